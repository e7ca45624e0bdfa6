// tmplref says what the libraries of the original make of templates and YAML. It reads requests, one JSON object on each
// line, and answers each with one line: {"output": "..."} or {"error": "..."}.
//
//	{"render": "<< inputs.a >>", "inputs": {...}}   text/template, slim-sprig, slug, toYaml; missing keys are errors
//	{"emit": {...}}                                 JSON as YAML by sigs.k8s.io/yaml
//	{"read": "a: yes"}                              YAML as JSON by sigs.k8s.io/yaml
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/template"

	"github.com/go-task/slim-sprig/v3"
	"github.com/gosimple/slug"
	"sigs.k8s.io/yaml"
)

type request struct {
	Render *string         `json:"render"`
	Inputs json.RawMessage `json:"inputs"`
	Emit   json.RawMessage `json:"emit"`
	Read   *string         `json:"read"`
}

type answer struct {
	Output string `json:"output"`
	Error  string `json:"error,omitempty"`
}

func main() {
	os.Setenv("TZ", "UTC")
	slug.MaxLength = 63
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		var asked request
		if err := json.Unmarshal(line, &asked); err != nil {
			fmt.Fprintln(os.Stderr, "tmplref: expected a request:", err)
			os.Exit(1)
		}
		text, err := reply(asked)
		if err != nil {
			encoder.Encode(answer{Error: err.Error()})
		} else {
			encoder.Encode(answer{Output: text})
		}
	}
}

func reply(asked request) (text string, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	switch {
	case asked.Render != nil:
		return render(*asked.Render, asked.Inputs)
	case asked.Emit != nil:
		data, err := yaml.JSONToYAML(asked.Emit)
		return string(data), err
	default:
		data, err := yaml.YAMLToJSON([]byte(*asked.Read))
		return string(data), err
	}
}

func render(text string, rawInputs json.RawMessage) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(rawInputs))
	decoder.UseNumber()
	var decoded map[string]any
	if err := decoder.Decode(&decoded); err != nil {
		return "", err
	}
	inputs, _ := typed(decoded).(map[string]any)
	functions := sprig.HermeticTxtFuncMap()
	functions["inputs"] = func() map[string]any { return inputs }
	functions["slugify"] = slug.Make
	functions["mustToYaml"] = func(value any) (string, error) {
		data, err := yaml.Marshal(value)
		return string(data), err
	}
	functions["toYaml"] = func(value any) string {
		data, err := yaml.Marshal(value)
		if err != nil {
			return ""
		}
		return string(data)
	}
	parsed, err := template.New("resourceset").Delims("<<", ">>").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, nil); err != nil {
		return "", err
	}
	return out.String(), nil
}

// typed gives numbers the types that Kubernetes' decoder gives them.
func typed(value any) any {
	switch value := value.(type) {
	case json.Number:
		if whole, err := value.Int64(); err == nil {
			return whole
		}
		float, _ := value.Float64()
		return float
	case []any:
		for index := range value {
			value[index] = typed(value[index])
		}
	case map[string]any:
		for key := range value {
			value[key] = typed(value[key])
		}
	}
	return value
}
