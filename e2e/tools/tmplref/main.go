package main
import (
 _ "github.com/go-task/slim-sprig/v3"
 _ "github.com/gosimple/slug"
 _ "sigs.k8s.io/yaml"
)
func main(){}
