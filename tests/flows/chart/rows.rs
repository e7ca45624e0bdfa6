//! One row for each value of Flux v1's chart (fluxd-v1 §12.1), and what it is to be rendered into. Data only.

/// What is to be found among the rendered objects.
#[derive(Debug)]
pub(super) enum Expect {
    /// An argument of fluxd, whole.
    Arg(&'static str),
    /// A flag that is not given.
    NoArg(&'static str),
    /// An object, `Kind` or `Kind/name`.
    Object(&'static str),
    /// No such object.
    NoObject(&'static str),
    /// An object, a JSON pointer into it, and YAML that the value there holds.
    Field(&'static str, &'static str, &'static str),
}
use Expect::{Arg, Field, NoArg, NoObject, Object};

/// A value, a values file that sets it, and what comes of it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) value: &'static str,
    pub(super) yaml: &'static str,
    pub(super) expects: &'static [Expect],
}

const fn row(value: &'static str, yaml: &'static str, expects: &'static [Expect]) -> Row {
    Row { value, yaml, expects }
}

const POD: &str = "/spec/template/spec";
const CONTAINER: &str = "/spec/template/spec/containers/0";
const VOLUMES: &str = "/spec/template/spec/volumes";
const MOUNTS: &str = "/spec/template/spec/containers/0/volumeMounts";
const ENV: &str = "/spec/template/spec/containers/0/env";
const LABELS: &str = "/spec/template/metadata/labels";

const fn pod(yaml: &'static str) -> Expect {
    Field("Deployment", POD, yaml)
}

const fn container(yaml: &'static str) -> Expect {
    Field("Deployment", CONTAINER, yaml)
}

const fn volume(yaml: &'static str) -> Expect {
    Field("Deployment", VOLUMES, yaml)
}

const fn mount(yaml: &'static str) -> Expect {
    Field("Deployment", MOUNTS, yaml)
}

/// The values of the table, as its rows name them.
#[rustfmt::skip]
pub(super) static VALUES: &[&str] = &[
    "token", "replicaCount", "logFormat", "image.repository", "image.tag", "image.pullPolicy", "image.pullSecret",
    "service.type", "service.createClusterIP", "service.port", "allowedNamespaces", "clusterRole.create",
    "clusterRole.name", "defaultNamespace", "rbac.create", "rbac.pspEnabled", "serviceAccount.create",
    "serviceAccount.name", "serviceAccount.annotations", "resources", "nodeSelector", "tolerations", "affinity",
    "annotations", "podLabels", "priorityClassName", "dnsPolicy", "dnsConfig", "hostAliases", "extraContainers",
    "initContainers", "extraVolumes", "extraVolumeMounts", "extraEnvs", "extraEnvsFrom", "env.secretName",
    "gpgKeys.secretName", "gpgKeys.configMapName", "sync.state", "sync.timeout", "sync.interval", "git.url",
    "git.branch", "git.path", "git.readonly", "git.user", "git.email", "git.setAuthor", "git.label", "git.ciSkip",
    "git.pollInterval", "git.timeout", "git.signingKey", "git.verifySignatures", "git.verifySignaturesMode",
    "git.secret.enabled", "git.secretName", "git.secretDataKey", "git.config.enabled", "git.config.secretName",
    "git.config.data", "sops.enabled", "registry.automationInterval", "registry.pollInterval", "registry.rps",
    "registry.burst", "registry.trace", "registry.insecureHosts", "registry.cacheExpiry", "registry.disableScanning",
    "registry.excludeImage", "registry.includeImage", "registry.useTimestampLabels", "registry.ecr.region",
    "registry.ecr.includeId", "registry.ecr.excludeId", "registry.ecr.require", "registry.acr.enabled",
    "registry.acr.hostPath", "registry.acr.secretName", "registry.dockercfg.enabled", "registry.dockercfg.secretName",
    "registry.dockercfg.configFileName", "memcached.enabled", "memcached.hostnameOverride", "memcached.repository",
    "memcached.tag", "memcached.pullSecret", "memcached.createClusterIP", "memcached.verbose", "memcached.maxItemSize",
    "memcached.maxMemory", "memcached.addSecurityContext", "memcached.securityContext", "memcached.nodeSelector",
    "memcached.tolerations", "memcached.affinity", "memcached.resources", "memcached.priorityClassName",
    "memcached.annotations", "ssh.known_hosts", "ssh.config", "ssh.keygen.format", "ssh.secret.annotations",
    "kube.config", "kube.externalConfig", "additionalArgs", "prometheus.enabled", "prometheus.serviceMonitor.create",
    "prometheus.serviceMonitor.interval", "prometheus.serviceMonitor.scrapeTimeout",
    "prometheus.serviceMonitor.namespace", "prometheus.serviceMonitor.additionalLabels",
    "syncGarbageCollection.enabled", "syncGarbageCollection.dry", "manifestGeneration", "dashboards.enabled",
    "dashboards.namespace", "dashboards.nameprefix",
];

/// What a value of "memcached" comes to.
const NOTHING: &[Expect] =
    &[NoObject("Deployment/flux-memcached"), NoObject("Service/flux-memcached"), NoArg("--memcached-hostname")];

/// The table.
#[rustfmt::skip]
pub(super) static ROWS: &[Row] = &[
    row("", "{}", &[
        Arg("--ssh-keygen-dir=/var/fluxd/keygen"), Arg("--k8s-secret-name=flux-git-deploy"), Arg("--git-path="),
        Arg("--git-branch=master"), Arg("--git-label=flux-sync"), Arg("--sync-state=git"), Arg("--git-poll-interval=5m"),
        Field("Deployment", "/spec", "{replicas: 1, strategy: {type: Recreate}, selector: {matchLabels: {app: flux, release: flux}}}"),
        Field("Deployment", LABELS, "{app: flux, release: flux}"),
        container("{ports: [{name: http, containerPort: 3030}], resources: {requests: {cpu: 50m, memory: 64Mi}}}"),
        container("{livenessProbe: {httpGet: {port: 3030}, initialDelaySeconds: 5, timeoutSeconds: 5}}"),
        volume("[{name: git-key, secret: {secretName: flux-git-deploy, defaultMode: 256}}]"),
        mount("[{mountPath: /etc/fluxd/ssh}, {mountPath: /var/fluxd/keygen}]"),
        Field("Secret/flux-git-deploy", "", "{type: Opaque}"), NoArg("--k8s-allow-namespace"), NoArg("--leader-elect"),
        NoObject("Role"), NoObject("ServiceMonitor"), NoObject("ConfigMap/flux-ssh-config"),
    ]),
    row("token", "token: abc", &[
        Arg("--connect=wss://cloud.weave.works/api/flux"), Arg("--token=$(FLUXD_TOKEN)"),
        Field("Deployment", ENV, "[{name: FLUXD_TOKEN, valueFrom: {secretKeyRef: {name: flux-token, key: token}}}]"),
        Field("Secret/flux-token", "/data/token", "YWJj"),
    ]),
    row("replicaCount", "replicaCount: 2", &[Field("Deployment", "/spec/replicas", "2"), Arg("--leader-elect=true")]),
    row("logFormat", "logFormat: json", &[Arg("--log-format=json")]),
    row("image.repository", "image: {repository: registry.example.org/fluxd}", &[container("{image: 'registry.example.org/fluxd:0.1.0'}")]),
    row("image.repository", "image: {repository: docker.io/fluxcd/flux, tag: 1.21.0}", &[container("{image: 'fluxd:0.1.0'}")]),
    row("image.tag", "image: {tag: 3.1}", &[container("{image: 'fluxd:3.1'}")]),
    row("image.tag", "image: {tag: 1.25.4}", &[container("{image: 'fluxd:0.1.0'}")]),
    row("image.pullPolicy", "image: {pullPolicy: Always}", &[container("{imagePullPolicy: Always}")]),
    row("image.pullSecret", "image: {pullSecret: mine}", &[pod("{imagePullSecrets: [{name: mine}]}")]),
    row("service.type", "service: {type: NodePort}", &[Field("Service/flux", "/spec", "{type: NodePort}")]),
    row("service.createClusterIP", "service: {createClusterIP: false}", &[Field("Service/flux", "/spec", "{clusterIP: None}")]),
    row("service.port", "service: {port: 80}", &[Field("Service/flux", "/spec/ports", "[{name: http, port: 80, targetPort: http}]")]),
    row("allowedNamespaces", "{clusterRole: {create: false}, allowedNamespaces: [a, b]}", &[Arg("--k8s-allow-namespace=a,b,ops")]),
    row("clusterRole.create", "{clusterRole: {create: false}, allowedNamespaces: [a]}", &[
        Field("Role", "", "{metadata: {namespace: a}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}"), Object("RoleBinding"),
        Field("ClusterRole/flux-crd", "/rules", "[{resources: [customresourcedefinitions], verbs: [list, watch]}, {resources: [namespaces], verbs: [list]}]"),
        NoObject("ClusterRole/flux"), Field("ConfigMap/flux-kube-config", "/data", "{}"), Object("ClusterRoleBinding/flux-crd"),
    ]),
    row("clusterRole.create", "clusterRole: {create: true}", &[
        Field("ClusterRole/flux", "/rules", "[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}, {nonResourceURLs: ['*'], verbs: ['*']}]"),
        Field("ClusterRoleBinding/flux", "", "{subjects: [{kind: ServiceAccount, name: flux, namespace: ops}]}"),
    ]),
    row("clusterRole.name", "clusterRole: {name: gitops}", &[Object("ClusterRole/gitops"), Field("ClusterRoleBinding/gitops", "/roleRef", "{name: gitops}")]),
    row("defaultNamespace", "defaultNamespace: apps", &[Arg("--k8s-default-namespace=apps")]),
    row("rbac.create", "rbac: {create: false}", &[NoObject("ClusterRole"), NoObject("ClusterRoleBinding")]),
    row("rbac.create", "{rbac: {create: false}, clusterRole: {create: false}}", &[NoObject("Role"), NoObject("ClusterRole")]),
    row("rbac.pspEnabled", "rbac: {pspEnabled: true}", &[NoObject("PodSecurityPolicy")]),
    row("serviceAccount.create", "serviceAccount: {create: false}", &[NoObject("ServiceAccount"), pod("{serviceAccountName: default}")]),
    row("serviceAccount.name", "serviceAccount: {name: ann}", &[Object("ServiceAccount/ann"), pod("{serviceAccountName: ann}")]),
    row("serviceAccount.annotations", "serviceAccount: {annotations: {a: b}}", &[Field("ServiceAccount", "/metadata/annotations", "{a: b}")]),
    row("resources", "resources: {limits: {memory: 1Gi}}", &[container("{resources: {limits: {memory: 1Gi}}}")]),
    row("nodeSelector", "nodeSelector: {disk: fast}", &[pod("{nodeSelector: {disk: fast}}")]),
    row("tolerations", "tolerations: [{operator: Exists}]", &[pod("{tolerations: [{operator: Exists}]}")]),
    row("affinity", "affinity: {podAffinity: {x: y}}", &[pod("{affinity: {podAffinity: {x: y}}}")]),
    row("annotations", "annotations: {a: b}", &[Field("Deployment", "/spec/template/metadata/annotations", "{a: b}")]),
    row("podLabels", "podLabels: {team: ops}", &[Field("Deployment", LABELS, "{team: ops, app: flux}")]),
    row("priorityClassName", "priorityClassName: high", &[pod("{priorityClassName: high}")]),
    row("dnsPolicy", "dnsPolicy: None", &[pod("{dnsPolicy: None}")]),
    row("dnsConfig", "dnsConfig: {nameservers: [192.0.2.1]}", &[pod("{dnsConfig: {nameservers: [192.0.2.1]}}")]),
    row("hostAliases", "hostAliases: [{ip: 192.0.2.1, hostnames: [a]}]", &[pod("{hostAliases: [{ip: 192.0.2.1, hostnames: [a]}]}")]),
    row("extraContainers", "extraContainers: [{name: side, image: x}]", &[pod("{containers: [{name: flux}, {name: side, image: x}]}")]),
    row("initContainers", "initContainers: {first: {image: x}}", &[pod("{initContainers: [{name: first, image: x}]}")]),
    row("initContainers", "initContainers: [{name: first, image: x}]", &[pod("{initContainers: [{name: first, image: x}]}")]),
    row("extraVolumes", "extraVolumes: [{name: more, emptyDir: {}}]", &[volume("[{name: tmp}, {name: more, emptyDir: {}}]")]),
    row("extraVolumeMounts", "extraVolumeMounts: [{name: more, mountPath: /more}]", &[mount("[{mountPath: /tmp}, {name: more, mountPath: /more}]")]),
    // The old image had no volume at /tmp, so values files bring one; two would be refused.
    row("extraVolumeMounts", "{extraVolumeMounts: [{name: scratch, mountPath: /tmp/}], extraVolumes: [{name: scratch, emptyDir: {}}]}",
        &[mount("[{name: scratch, mountPath: /tmp/}]"), Field("Deployment", MOUNTS, "[{mountPath: /root/.gnupg}]")]),
    row("extraEnvs", "extraEnvs: [{name: A, value: b}]", &[Field("Deployment", ENV, "[{name: A, value: b}, {name: KUBECONFIG}]")]),
    row("extraEnvsFrom", "extraEnvsFrom: [{configMapRef: {name: c}}]", &[container("{envFrom: [{configMapRef: {name: c}}]}")]),
    row("env.secretName", "env: {secretName: git-auth}", &[container("{envFrom: [{secretRef: {name: git-auth}}]}")]),
    row("gpgKeys.secretName", "gpgKeys: {secretName: gpg}", &[
        Arg("--git-gpg-key-import=/root/gpg-import/private"), mount("[{mountPath: /root/gpg-import/private}]"), volume("[{secret: {secretName: gpg}}]"),
    ]),
    row("gpgKeys.configMapName", "gpgKeys: {secretName: gpg, configMapName: keys}", &[
        Arg("--git-gpg-key-import=/root/gpg-import/private,/root/gpg-import/public"), volume("[{configMap: {name: keys}}]"),
        mount("[{mountPath: /root/gpg-import/public}]"),
    ]),
    row("sync.state", "sync: {state: secret}", &[Arg("--sync-state=secret")]),
    row("sync.timeout", "sync: {timeout: 3m}", &[Arg("--sync-timeout=3m")]),
    row("sync.interval", "sync: {interval: 7m}", &[Arg("--sync-interval=7m")]),
    row("git.url", "git: {url: 'git@git.example.org:a/b'}", &[Arg("--git-url=git@git.example.org:a/b")]),
    row("git.branch", "git: {branch: main}", &[Arg("--git-branch=main")]),
    row("git.path", "git: {path: 'apps,infra'}", &[Arg("--git-path=apps,infra")]),
    row("git.readonly", "git: {readonly: true}", &[Arg("--git-readonly=true")]),
    row("git.user", "git: {user: Ann}", &[Arg("--git-user=Ann")]),
    row("git.email", "git: {email: ann@example.com}", &[Arg("--git-email=ann@example.com")]),
    row("git.setAuthor", "git: {setAuthor: true}", &[Arg("--git-set-author=true")]),
    row("git.label", "git: {label: east}", &[Arg("--git-label=east")]),
    row("git.ciSkip", "git: {ciSkip: true}", &[Arg("--git-ci-skip=true")]),
    row("git.pollInterval", "git: {pollInterval: 30s}", &[Arg("--git-poll-interval=30s"), Arg("--sync-interval=30s")]),
    row("git.timeout", "git: {timeout: 90s}", &[Arg("--git-timeout=90s")]),
    row("git.signingKey", "git: {signingKey: ABCD}", &[Arg("--git-signing-key=ABCD")]),
    row("git.verifySignatures", "git: {verifySignatures: true}", &[Arg("--git-verify-signatures=true")]),
    row("git.verifySignaturesMode", "git: {verifySignaturesMode: first-parent}", &[Arg("--git-verify-signatures-mode=first-parent")]),
    row("git.secret.enabled", "git: {secret: {enabled: true}}", &[Arg("--git-secret=true")]),
    row("git.secretName", "git: {secretName: key}", &[Arg("--k8s-secret-name=key"), volume("[{name: git-key, secret: {secretName: key}}]"), NoObject("Secret")]),
    row("git.secretDataKey", "git: {secretDataKey: id}", &[Arg("--k8s-secret-data-key=id")]),
    row("git.config.enabled", "git: {config: {enabled: false, data: x}}", &[NoObject("Secret/flux-git-config")]),
    row("git.config.secretName", "git: {config: {enabled: true, secretName: conf}}", &[
        volume("[{secret: {secretName: conf}}]"), mount("[{mountPath: /root/.gitconfig, subPath: gitconfig}]"), NoObject("Secret/conf"),
    ]),
    row("git.config.data", "git: {config: {enabled: true, data: '[user]'}}", &[
        Field("Secret/flux-git-config", "/data", "{gitconfig: W3VzZXJd}"), volume("[{secret: {secretName: flux-git-config}}]"),
    ]),
    row("sops.enabled", "sops: {enabled: true}", &[Arg("--sops=true")]),
    row("registry.automationInterval", "registry: {automationInterval: 1m}", &[Arg("--automation-interval=1m")]),
    row("registry.pollInterval", "registry: {automationInterval: 1m, pollInterval: 2m}", &[Arg("--automation-interval=2m")]),
    row("registry.rps", "registry: {rps: 10}", &[Arg("--registry-rps=10")]),
    row("registry.burst", "registry: {burst: 5}", &[Arg("--registry-burst=5")]),
    row("registry.rps", "{}", &[Arg("--registry-rps=200"), Arg("--registry-burst=125")]),
    row("registry.trace", "registry: {trace: true}", &[Arg("--registry-trace=true")]),
    row("registry.insecureHosts", "registry: {insecureHosts: 'a:5000,b'}", &[Arg("--registry-insecure-host=a:5000,b")]),
    row("registry.cacheExpiry", "registry: {cacheExpiry: 1h}", &[Arg("--registry-cache-expiry=1h")]),
    row("registry.disableScanning", "registry: {disableScanning: true}", &[Arg("--registry-disable-scanning=true")]),
    row("registry.excludeImage", "registry: {excludeImage: 'k8s.gcr.io/*'}", &[Arg("--registry-exclude-image=k8s.gcr.io/*")]),
    row("registry.includeImage", "registry: {includeImage: [a/*, b/*]}", &[Arg("--registry-include-image=a/*,b/*")]),
    row("registry.useTimestampLabels", "registry: {useTimestampLabels: 'a/*'}", &[Arg("--registry-use-labels=a/*")]),
    row("registry.ecr.region", "registry: {ecr: {region: eu-west-1}}", &[Arg("--registry-ecr-region=eu-west-1")]),
    row("registry.ecr.includeId", "registry: {ecr: {includeId: 602401143452}}", &[Arg("--registry-ecr-include-id=602401143452")]),
    row("registry.ecr.excludeId", "registry: {ecr: {excludeId: '1,2'}}", &[Arg("--registry-ecr-exclude-id=1,2")]),
    row("registry.ecr.require", "registry: {ecr: {require: true}}", &[Arg("--registry-require=ecr")]),
    row("registry.acr.enabled", "registry: {acr: {enabled: true}}", &[
        volume("[{hostPath: {path: /etc/kubernetes/azure.json}}]"), mount("[{mountPath: /etc/kubernetes/azure.json}]"),
    ]),
    row("registry.acr.hostPath", "registry: {acr: {enabled: true, hostPath: /a.json}}", &[volume("[{hostPath: {path: /a.json}}]")]),
    row("registry.acr.secretName", "registry: {acr: {enabled: true, secretName: acr}}", &[
        volume("[{secret: {secretName: acr}}]"), mount("[{mountPath: /etc/kubernetes/azure.json, subPath: azure.json}]"),
    ]),
    row("registry.dockercfg.enabled", "registry: {dockercfg: {enabled: true, secretName: d}}", &[Arg("--docker-config=/dockercfg/config.json"), mount("[{mountPath: /dockercfg/}]")]),
    row("registry.dockercfg.secretName", "registry: {dockercfg: {enabled: true, secretName: d}}", &[volume("[{secret: {secretName: d}}]")]),
    row("registry.dockercfg.configFileName", "registry: {dockercfg: {enabled: true, secretName: d, configFileName: .dockerconfigjson}}",
        &[Arg("--docker-config=/dockercfg/.dockerconfigjson")]),
    row("memcached.enabled", "memcached: {enabled: true}", NOTHING),
    row("memcached.hostnameOverride", "memcached: {hostnameOverride: m}", NOTHING),
    row("memcached.repository", "memcached: {repository: memcached}", NOTHING),
    row("memcached.tag", "memcached: {tag: 1.6.12-alpine}", NOTHING),
    row("memcached.pullSecret", "memcached: {pullSecret: p}", NOTHING),
    row("memcached.createClusterIP", "memcached: {createClusterIP: false}", NOTHING),
    row("memcached.verbose", "memcached: {verbose: true}", NOTHING),
    row("memcached.maxItemSize", "memcached: {maxItemSize: 1m}", NOTHING),
    row("memcached.maxMemory", "memcached: {maxMemory: 64}", NOTHING),
    row("memcached.addSecurityContext", "memcached: {addSecurityContext: false}", NOTHING),
    row("memcached.securityContext", "memcached: {securityContext: {runAsUser: 1}}", NOTHING),
    row("memcached.nodeSelector", "memcached: {nodeSelector: {a: b}}", NOTHING),
    row("memcached.tolerations", "memcached: {tolerations: [{operator: Exists}]}", NOTHING),
    row("memcached.affinity", "memcached: {affinity: {x: y}}", NOTHING),
    row("memcached.resources", "memcached: {resources: {limits: {cpu: 1}}}", NOTHING),
    row("memcached.priorityClassName", "memcached: {priorityClassName: p}", NOTHING),
    row("memcached.annotations", "memcached: {annotations: {a: b}}", NOTHING),
    row("ssh.known_hosts", "ssh: {known_hosts: 'git.example.org ssh-rsa A'}", &[
        Field("ConfigMap/flux-ssh-config", "/data", "{known_hosts: git.example.org ssh-rsa A}"), mount("[{mountPath: /root/.ssh}]"),
        volume("[{configMap: {name: flux-ssh-config, defaultMode: 384}}]"),
    ]),
    row("ssh.config", "ssh: {known_hosts: h, config: Host x}", &[Field("ConfigMap/flux-ssh-config", "/data", "{config: Host x}")]),
    row("ssh.config", "ssh: {config: Host x}", &[NoObject("ConfigMap/flux-ssh-config")]),
    row("ssh.keygen.format", "ssh: {keygen: {format: PEM}}", &[Arg("--ssh-keygen-format=PEM")]),
    row("ssh.keygen.format", "{}", &[Arg("--ssh-keygen-format=RFC4716")]),
    row("ssh.secret.annotations", "ssh: {secret: {annotations: {a: b}}}", &[Field("Secret/flux-git-deploy", "/metadata/annotations", "{a: b}")]),
    row("kube.config", "kube: {config: 'current-context: {{ .Release.Name }}'}", &[
        Field("ConfigMap/flux-kube-config", "/data", "{config: 'current-context: flux'}"), mount("[{mountPath: /root/.kubectl}]"),
        Field("Deployment", ENV, "[{name: KUBECONFIG, value: /root/.kubectl/config}]"),
    ]),
    row("kube.externalConfig", "kube: {externalConfig: true}", &[NoObject("ConfigMap/flux-kube-config"), volume("[{configMap: {name: flux-kube-config, optional: true}}]")]),
    row("additionalArgs", "additionalArgs: [--drift=interval, --connect=ws://fluxcloud]", &[Arg("--drift=interval"), Arg("--connect=ws://fluxcloud")]),
    row("prometheus.enabled", "prometheus: {enabled: true}", &[Field("Deployment", "/spec/template/metadata/annotations", "{prometheus.io/scrape: 'true'}")]),
    row("prometheus.serviceMonitor.create", "prometheus: {serviceMonitor: {create: true}}", &[
        Field("ServiceMonitor/flux", "/spec", "{endpoints: [{port: http}], selector: {matchLabels: {app: flux, release: flux}}}"),
    ]),
    row("prometheus.serviceMonitor.interval", "prometheus: {serviceMonitor: {create: true, interval: 15s}}", &[Field("ServiceMonitor", "/spec/endpoints", "[{interval: 15s}]")]),
    row("prometheus.serviceMonitor.scrapeTimeout", "prometheus: {serviceMonitor: {create: true, scrapeTimeout: 9s}}", &[Field("ServiceMonitor", "/spec/endpoints", "[{scrapeTimeout: 9s}]")]),
    row("prometheus.serviceMonitor.namespace", "prometheus: {serviceMonitor: {create: true, namespace: mon}}", &[
        Field("ServiceMonitor", "", "{metadata: {namespace: mon}, spec: {namespaceSelector: {matchNames: [ops]}}}"),
    ]),
    row("prometheus.serviceMonitor.additionalLabels", "prometheus: {serviceMonitor: {create: true, additionalLabels: {a: b}}}", &[Field("ServiceMonitor", "/metadata/labels", "{a: b}")]),
    row("syncGarbageCollection.enabled", "syncGarbageCollection: {enabled: true}", &[Arg("--sync-garbage-collection=true")]),
    row("syncGarbageCollection.dry", "syncGarbageCollection: {enabled: true, dry: true}", &[Arg("--sync-garbage-collection-dry=true")]),
    row("manifestGeneration", "manifestGeneration: true", &[Arg("--manifest-generation=true")]),
    row("dashboards.enabled", "dashboards: {enabled: true}", &[Field("ConfigMap/flux-dashboards-fluxd", "/metadata/labels", "{grafana_dashboard: '1'}")]),
    row("dashboards.namespace", "dashboards: {enabled: true, namespace: mon}", &[Field("ConfigMap/flux-dashboards-fluxd", "/metadata", "{namespace: mon}")]),
    row("dashboards.nameprefix", "dashboards: {enabled: true, nameprefix: x}", &[Object("ConfigMap/x-fluxd")]),
];
