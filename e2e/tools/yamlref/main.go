// yamlref says what Flux v1 and kubectl make of YAML: it reads streams (each preceded by its length in bytes on a line of
// its own) and answers each with one line of JSON: {"documents": [...]} or {"error": "..."}. A document takes v1's whole
// way: go-yaml v2 decodes it and writes it again, and sigs.k8s.io/yaml turns that into JSON.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

type answer struct {
	Documents []json.RawMessage `json:"documents,omitempty"`
	Error     string            `json:"error,omitempty"`
}

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for {
		header, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		size, err := strconv.Atoi(strings.TrimSpace(header))
		if err != nil {
			fmt.Fprintln(os.Stderr, "yamlref: expected a length:", err)
			os.Exit(1)
		}
		stream := make([]byte, size)
		if _, err := io.ReadFull(in, stream); err != nil {
			fmt.Fprintln(os.Stderr, "yamlref: short stream:", err)
			os.Exit(1)
		}
		if err := encoder.Encode(read(stream)); err != nil {
			fmt.Fprintln(os.Stderr, "yamlref:", err)
			os.Exit(1)
		}
	}
}

func read(stream []byte) (result answer) {
	defer func() {
		if problem := recover(); problem != nil {
			result = answer{Error: fmt.Sprint("panic: ", problem)}
		}
	}()
	decoder := yamlv2.NewDecoder(bytes.NewReader(stream))
	for {
		var value any
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return result
		}
		if err != nil {
			return answer{Error: err.Error()}
		}
		text, err := yamlv2.Marshal(value)
		if err != nil {
			return answer{Error: err.Error()}
		}
		document, err := yaml.YAMLToJSON(text)
		if err != nil {
			return answer{Error: err.Error()}
		}
		result.Documents = append(result.Documents, document)
	}
}
