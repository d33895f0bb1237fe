{{- define "sweep.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 44 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 44 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "sweep.labels" -}}
{{ include "sweep.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "sweep.selector" -}}
app.kubernetes.io/name: {{ .part | default "sweep" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sweep.image" -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end }}

{{- define "sweep.account" -}}
{{ .Values.serviceAccount.name | default (ternary (include "sweep.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{/* What the pods of sweeps, of a daemon and of a migration have in common. */}}
{{- define "sweep.confinedPod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "sweep.confinedContainer" -}}
imagePullPolicy: IfNotPresent
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
resources: {{ toJson .Values.resources }}
{{- end }}

{{/* Used if the URL says nothing about TLS. */}}
{{- define "sweep.verified" -}}
- { name: PGSSLMODE, value: verify-full }
- { name: PGSSLROOTCERT, value: /etc/ssl/certs/ca-certificates.crt }
{{- end }}

{{- define "sweep.settings" -}}
{{- $daemon := dict "SWEEP_HTTP" "0.0.0.0:9464" "SWEEP_JITTER" "15s" -}}
{{ merge (dict) .Values.settings (ternary $daemon dict (eq .Values.mode "daemon")) | toYaml }}
{{- end }}

{{/* The pod of a sweep, or of a daemon. */}}
{{- define "sweep.pod" -}}
{{- $isDaemon := eq .Values.mode "daemon" }}
serviceAccountName: {{ include "sweep.account" . }}
{{ include "sweep.confinedPod" . }}
terminationGracePeriodSeconds: 30
{{- if not $isDaemon }}
restartPolicy: Never
{{- end }}
{{- with .Values.pod }}
{{ toYaml . }}
{{- end }}
containers:
  - name: sweep
    image: {{ include "sweep.image" (merge (dict) .Values.image (dict "tag" .Chart.AppVersion)) }}
    {{- include "sweep.confinedContainer" . | nindent 4 }}
    {{- if $isDaemon }}
    args: [daemon]
    ports:
      - { name: metrics, containerPort: 9464 }
    livenessProbe:
      httpGet: { path: /healthz, port: metrics }
      periodSeconds: 20
      timeoutSeconds: 5
      failureThreshold: 3
    readinessProbe:
      httpGet: { path: /readyz, port: metrics }
      periodSeconds: 10
      timeoutSeconds: 5
    {{- else if eq (int .Values.shards) 1 }}
    args: [--output, ndjson]
    {{- else }}
    args: [--output, ndjson, --shard, $(JOB_COMPLETION_INDEX)/{{ .Values.shards }}]
    {{- end }}
    envFrom:
      - configMapRef: { name: {{ include "sweep.name" . }} }
    env:
      - name: DATABASE_URL
        valueFrom:
          secretKeyRef: { name: {{ .Values.secret }}, key: database-url }
      {{- include "sweep.verified" . | nindent 6 }}
      {{- $optional := list "slack-url" "teams-url" "email-url" "pagerduty-url" "webhook-url" "webhook-secret" "ping-url" }}
      {{- range ternary (prepend $optional "listen-url") $optional $isDaemon }}
      - name: SWEEP_{{ . | replace "-" "_" | upper }}
        valueFrom:
          secretKeyRef: { name: {{ $.Values.secret }}, key: {{ . }}, optional: true }
      {{- end }}
      - name: OTEL_EXPORTER_OTLP_HEADERS
        valueFrom:
          secretKeyRef: { name: {{ .Values.secret }}, key: otlp-headers, optional: true }
    {{- with .Values.volumeMounts }}
    volumeMounts: {{ toJson . }}
    {{- end }}
{{- end }}

{{/* With weight and suffix in the context. */}}
{{- define "sweep.migrateMetadata" }}
name: {{ include "sweep.name" . }}-{{ .suffix }}
namespace: {{ .Release.Namespace }}
labels: {{- include "sweep.labels" . | nindent 2 }}
annotations:
  helm.sh/hook: pre-install,pre-upgrade
  helm.sh/hook-delete-policy: before-hook-creation
  helm.sh/hook-weight: {{ .weight | quote }}
{{- end }}
