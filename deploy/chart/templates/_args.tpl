{{- /* The arguments of fluxd as a list: those that Flux v1's chart always passed, then those whose value is set. */ -}}
{{- define "flux.args" -}}
{{- $v := .Values -}}
{{- $git := $v.git -}}
{{- $registry := $v.registry -}}
{{- $args := list
  "--ssh-keygen-dir=/var/fluxd/keygen"
  "--cache-dir=/var/cache/fluxd"
  (printf "--k8s-secret-name=%s" (include "flux.secret" .))
  (printf "--git-path=%s" (include "flux.commas" ($git.path | default "")))
-}}
{{- $rows := list
  (list "log-format" $v.logFormat)
  (list "k8s-default-namespace" $v.defaultNamespace)
  (list "ssh-keygen-format" $v.ssh.keygen.format)
  (list "git-url" $git.url)
  (list "git-branch" $git.branch)
  (list "git-user" $git.user)
  (list "git-email" $git.email)
  (list "git-label" $git.label)
  (list "git-poll-interval" $git.pollInterval)
  (list "git-timeout" $git.timeout)
  (list "git-signing-key" $git.signingKey)
  (list "git-verify-signatures-mode" $git.verifySignaturesMode)
  (list "git-gpg-key-import" (include "flux.gpgDirectories" .))
  (list "k8s-secret-data-key" $git.secretDataKey)
  (list "sync-state" $v.sync.state)
  (list "sync-timeout" $v.sync.timeout)
  (list "sync-interval" ($v.sync.interval | default $git.pollInterval))
  (list "automation-interval" ($registry.pollInterval | default $registry.automationInterval))
  (list "registry-rps" $registry.rps)
  (list "registry-burst" $registry.burst)
  (list "registry-insecure-host" $registry.insecureHosts)
  (list "registry-exclude-image" $registry.excludeImage)
  (list "registry-include-image" $registry.includeImage)
  (list "registry-use-labels" $registry.useTimestampLabels)
  (list "registry-cache-expiry" $registry.cacheExpiry)
  (list "registry-ecr-region" $registry.ecr.region)
  (list "registry-ecr-include-id" $registry.ecr.includeId)
  (list "registry-ecr-exclude-id" $registry.ecr.excludeId)
-}}
{{- range $rows }}{{ if not (empty (last .)) }}{{ $args = append $args (printf "--%s=%s" (first .) (include "flux.commas" (last .))) }}{{ end }}{{ end -}}
{{- $switches := list
  (list "git-readonly" $git.readonly)
  (list "git-set-author" $git.setAuthor)
  (list "git-ci-skip" $git.ciSkip)
  (list "git-verify-signatures" $git.verifySignatures)
  (list "git-secret" $git.secret.enabled)
  (list "sops" $v.sops.enabled)
  (list "registry-trace" $registry.trace)
  (list "registry-disable-scanning" $registry.disableScanning)
  (list "sync-garbage-collection" $v.syncGarbageCollection.enabled)
  (list "sync-garbage-collection-dry" $v.syncGarbageCollection.dry)
  (list "manifest-generation" $v.manifestGeneration)
  (list "leader-elect" (gt (int $v.replicaCount) 1))
-}}
{{- range $switches }}{{ if eq "true" (toString (last .)) }}{{ $args = append $args (printf "--%s=true" (first .)) }}{{ end }}{{ end -}}
{{- if $registry.ecr.require }}{{ $args = append $args "--registry-require=ecr" }}{{ end -}}
{{- if $registry.dockercfg.enabled }}{{ $args = append $args (printf "--docker-config=/dockercfg/%s" (trimPrefix "/dockercfg/" $registry.dockercfg.configFileName)) }}{{ end -}}
{{- if not $v.clusterRole.create }}{{ $args = append $args (printf "--k8s-allow-namespace=%s" (include "flux.namespaces" .)) }}{{ end -}}
{{- if $v.controllers.resourceset }}
{{- $args = append $args "--controllers=resourceset" }}
{{- with $v.controllers.defaultServiceAccount }}{{ $args = append $args (printf "--default-service-account=%s" .) }}{{ end }}
{{- end -}}
{{- if $v.token }}{{ $args = concat $args (list "--connect=wss://cloud.weave.works/api/flux" "--token=$(FLUXD_TOKEN)") }}{{ end -}}
{{- toYaml (concat $args ($v.additionalArgs | default list)) -}}
{{- end -}}
