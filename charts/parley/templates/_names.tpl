{{/* The name of everything: that of the release, which says parley once. */}}
{{- define "parley.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains "parley" $name) }}{{ $name = printf "%s-parley" $name }}{{ end -}}
{{- $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "parley.selector" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "parley.labels" -}}
{{ include "parley.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{- define "parley.account" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "parley.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end -}}
{{- end -}}

{{/* The Secret with the session database, empty if sessions are in memory. */}}
{{- define "parley.sessionSecret" -}}
{{- if .Values.sessionDatabase.existingSecret }}{{ .Values.sessionDatabase.existingSecret }}{{ else if .Values.sessionDatabase.url }}{{ include "parley.name" . }}-sessions{{ end -}}
{{- end -}}
