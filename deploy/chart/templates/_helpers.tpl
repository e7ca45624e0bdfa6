{{- define "flux.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "flux.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* What a Deployment's selector holds cannot change, so these are the labels that the old chart's had. */ -}}
{{- define "flux.selector" -}}
app: {{ include "flux.name" . }}
release: {{ .Release.Name }}
{{- end -}}

{{- define "flux.labels" -}}
{{ include "flux.selector" . }}
chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
heritage: {{ .Release.Service }}
{{- end -}}

{{- /* A map, and of another one given as YAML what the first does not have. */ -}}
{{- define "flux.merged" -}}
{{- toYaml (merge (deepCopy (first . | default dict)) (last . | fromYaml)) -}}
{{- end -}}

{{- define "flux.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "flux.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "flux.secret" -}}
{{- default (printf "%s-git-deploy" (include "flux.fullname" .)) .Values.git.secretName -}}
{{- end -}}

{{- define "flux.gitConfigSecret" -}}
{{- default (printf "%s-git-config" (include "flux.fullname" .)) .Values.git.config.secretName -}}
{{- end -}}

{{- /* "yes" where the values name an image of Flux v1, which cannot run with these manifests. */ -}}
{{- define "flux.oldRepository" -}}
{{- if regexMatch "^((index\\.)?docker\\.io/|quay\\.io/)?(fluxcd|weaveworks)/flux(-prerelease)?$" .Values.image.repository }}yes{{ end -}}
{{- end -}}

{{- define "flux.oldTag" -}}
{{- if regexMatch "^(1\\.([0-9]|1[0-9]|2[0-5])\\.[0-9]+)(-.*)?$" (include "flux.commas" .Values.image.tag) }}yes{{ end -}}
{{- end -}}

{{- define "flux.image" -}}
{{- $repository := ternary "fluxd" .Values.image.repository (eq "yes" (include "flux.oldRepository" .)) -}}
{{- $old := or (eq "yes" (include "flux.oldRepository" .)) (eq "yes" (include "flux.oldTag" .)) -}}
{{- printf "%s:%s" $repository (ternary .Chart.AppVersion (include "flux.commas" (default .Chart.AppVersion .Values.image.tag)) $old) -}}
{{- end -}}

{{- /* The namespaces with a Role each, when there is no ClusterRole. */ -}}
{{- define "flux.namespaces" -}}
{{- concat (.Values.allowedNamespaces | default list) (list .Release.Namespace) | uniq | join "," -}}
{{- end -}}

{{- /* A list as text with commas; text as it is; numbers without an exponent (a file's numbers arrive as floats). */ -}}
{{- define "flux.commas" -}}
{{- $words := list -}}
{{- range (ternary . (list .) (kindIs "slice" .)) -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) }}{{ $words = append $words (int64 . | toString) }}{{ else }}{{ $words = append $words (toString .) }}{{ end -}}
{{- end -}}
{{- join "," $words -}}
{{- end -}}

{{- define "flux.gpgDirectories" -}}
{{- $found := list -}}
{{- if .Values.gpgKeys.secretName }}{{ $found = append $found "/root/gpg-import/private" }}{{ end -}}
{{- if .Values.gpgKeys.configMapName }}{{ $found = append $found "/root/gpg-import/public" }}{{ end -}}
{{- join "," $found -}}
{{- end -}}

{{- define "flux.kubeMounted" -}}
{{- $mounted := true -}}
{{- if .Values.kube.externalConfig -}}
{{- range .Values.extraVolumeMounts }}{{ if eq (trimSuffix "/" (toString .mountPath)) "/root/.kubectl" }}{{ $mounted = false }}{{ end }}{{ end -}}
{{- end -}}
{{- if $mounted }}yes{{ end -}}
{{- end -}}
