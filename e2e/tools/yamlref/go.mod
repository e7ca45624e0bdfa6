module yamlref

go 1.25

require (
	go.yaml.in/yaml/v2 v2.4.3
	sigs.k8s.io/yaml v1.6.0
)
