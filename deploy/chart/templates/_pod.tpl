{{- /* Items of a list as YAML, without those whose field (a name, a path) an item of the user's own list has; then that list. */ -}}
{{- define "flux.withOwn" -}}
{{- $key := .key -}}
{{- $taken := list -}}
{{- range .own }}{{ $taken = append $taken (trimSuffix "/" (toString (get . $key))) }}{{ end -}}
{{- $kept := list -}}
{{- range fromYamlArray .ours }}{{ if not (has (trimSuffix "/" (toString (get . $key))) $taken) }}{{ $kept = append $kept . }}{{ end }}{{ end -}}
{{- toYaml (concat $kept (.own | default list)) -}}
{{- end -}}

{{- /* Volumes of the Pod. */ -}}
{{- define "flux.volumes" -}}
{{- $v := .Values -}}
- name: git-key
  secret:
    secretName: {{ include "flux.secret" . }}
    defaultMode: 0400
- name: git-keygen
  emptyDir: {medium: Memory}
- name: tmp
  emptyDir: {}
- name: gnupg
  emptyDir: {medium: Memory}
- name: cache
  {{- if $v.cache.existingClaim }}
  persistentVolumeClaim: {claimName: {{ $v.cache.existingClaim }}}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- if include "flux.kubeMounted" . }}
- name: kubedir
  configMap:
    name: {{ include "flux.fullname" . }}-kube-config
    {{- if $v.kube.externalConfig }}
    optional: true
    {{- end }}
{{- end }}
{{- if $v.ssh.known_hosts }}
- name: sshdir
  configMap:
    name: {{ include "flux.fullname" . }}-ssh-config
    defaultMode: 0600
{{- end }}
{{- if $v.git.config.enabled }}
- name: git-config
  secret:
    secretName: {{ include "flux.gitConfigSecret" . }}
    defaultMode: 0400
{{- end }}
{{- if $v.gpgKeys.secretName }}
- name: gpg-private
  secret:
    secretName: {{ $v.gpgKeys.secretName }}
    defaultMode: 0400
{{- end }}
{{- if $v.gpgKeys.configMapName }}
- name: gpg-public
  configMap:
    name: {{ $v.gpgKeys.configMapName }}
    defaultMode: 0400
{{- end }}
{{- if $v.registry.acr.enabled }}
- name: azure-json
  {{- if $v.registry.acr.secretName }}
  secret:
    secretName: {{ $v.registry.acr.secretName }}
    defaultMode: 0400
  {{- else }}
  hostPath: {path: {{ $v.registry.acr.hostPath }}}
  {{- end }}
{{- end }}
{{- if $v.registry.dockercfg.enabled }}
- name: docker-config
  secret:
    secretName: {{ required "registry.dockercfg.secretName names the Secret to mount" $v.registry.dockercfg.secretName }}
    defaultMode: 0400
{{- end }}
{{- end -}}

{{- /* Where fluxd finds them. */ -}}
{{- define "flux.mounts" -}}
{{- $v := .Values -}}
- {name: git-key, mountPath: /etc/fluxd/ssh, readOnly: true}
- {name: git-keygen, mountPath: /var/fluxd/keygen}
- {name: tmp, mountPath: /tmp}
- {name: gnupg, mountPath: /root/.gnupg}
- {name: cache, mountPath: /var/cache/fluxd}
{{- if include "flux.kubeMounted" . }}
- {name: kubedir, mountPath: /root/.kubectl}
{{- end }}
{{- if $v.ssh.known_hosts }}
- {name: sshdir, mountPath: /root/.ssh, readOnly: true}
{{- end }}
{{- if $v.git.config.enabled }}
- {name: git-config, mountPath: /root/.gitconfig, subPath: gitconfig, readOnly: true}
{{- end }}
{{- if $v.gpgKeys.secretName }}
- {name: gpg-private, mountPath: /root/gpg-import/private, readOnly: true}
{{- end }}
{{- if $v.gpgKeys.configMapName }}
- {name: gpg-public, mountPath: /root/gpg-import/public, readOnly: true}
{{- end }}
{{- if $v.registry.acr.enabled }}
- name: azure-json
  mountPath: /etc/kubernetes/azure.json
  readOnly: true
  {{- if $v.registry.acr.secretName }}
  subPath: azure.json
  {{- end }}
{{- end }}
{{- if $v.registry.dockercfg.enabled }}
- {name: docker-config, mountPath: /dockercfg/, readOnly: true}
{{- end }}
{{- end -}}

{{- /* Variables of the environment. */ -}}
{{- define "flux.env" -}}
- {name: KUBECONFIG, value: /root/.kubectl/config}
{{- if gt (int .Values.replicaCount) 1 }}
- name: POD_IP # followers hand requests to the leader at this address
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
{{- end }}
{{- if .Values.token }}
- name: FLUXD_TOKEN
  valueFrom: {secretKeyRef: {name: {{ include "flux.fullname" . }}-token, key: token}}
{{- end }}
{{- end -}}

{{- define "flux.initContainers" -}}
{{- if kindIs "map" .Values.initContainers -}}
{{- $found := list -}}
{{- range $name, $spec := .Values.initContainers }}{{ $found = append $found (merge (dict "name" $name) $spec) }}{{ end -}}
{{- if $found }}{{ toYaml $found }}{{ end -}}
{{- else if .Values.initContainers -}}
{{- toYaml .Values.initContainers -}}
{{- end -}}
{{- end -}}

{{- define "flux.annotations" -}}
# What is mounted as a single file, or read at start only, asks for a new Pod when it changes.
checksum/config: {{ list .Values.ssh.known_hosts .Values.ssh.config .Values.kube.config .Values.git.config.data .Values.token | toJson | sha256sum | quote }}
{{- if .Values.prometheus.enabled }}
prometheus.io/scrape: "true"
prometheus.io/port: "3030"
{{- end }}
{{- end -}}
