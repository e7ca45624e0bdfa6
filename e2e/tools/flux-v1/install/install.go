// Package install satisfies an import of the original fluxctl; only its verb "install" would use it, which the tests do not run.
package install

import "errors"

// TemplateParameters has the fields that the original client fills in.
type TemplateParameters struct {
	GitURL, GitBranch, GitLabel, GitUser, GitEmail, GitSecretName, Namespace, ConfigFileContent, GitSecretFile string
	GitPaths, AdditionalFluxArgs                                                                               []string
	GitReadOnly, ManifestGeneration, RegistryDisableScanning, RegistryScanning, AddSecurityContext, ConfigAsConfigMap bool
}

// FillInTemplates always fails.
func FillInTemplates(TemplateParameters) (map[string][]byte, error) {
	return nil, errors.New("install is not part of this build")
}
