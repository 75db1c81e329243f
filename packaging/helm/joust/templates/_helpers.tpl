{{- define "joust.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "joust.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "joust.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "joust.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "joust.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "joust.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* "true" if the pod needs a volume: for the tables, or for the SQLite catalog of a bucket. */}}
{{- define "joust.hasVolume" -}}
{{- if or (not .Values.storage.uri) (not .Values.catalog.postgres.existingSecret) -}}true{{- end -}}
{{- end -}}

{{/* Checks of several values, which a schema cannot express. */}}
{{- define "joust.check" -}}
{{- if and (gt (int .Values.replicas) 1) (include "joust.hasVolume" .) -}}
{{- fail "replicas must be 1 unless storage.uri and catalog.postgres.existingSecret are set: several servers need a bucket and a Postgres catalog, because they cannot share a volume" -}}
{{- end -}}
{{- if and .Values.storage.uri (not .Values.auth.existingSecret) -}}
{{- fail "auth.existingSecret must name a secret with the admin key when storage.uri is set: a pod with tables in a bucket does not create an admin key" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (not .Values.serviceMonitor.keySecret.name) -}}
{{- fail "serviceMonitor.keySecret.name must name a secret with a key of role read: /metrics answers 401 without one" -}}
{{- end -}}
{{- end -}}

{{- define "joust.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ ternary "HTTPS" "HTTP" (ne .tls "") }}
timeoutSeconds: 3
{{- end -}}

{{/* The arguments of `joust serve`. Secrets are in the environment or in files, never in arguments. */}}
{{- define "joust.args" -}}
- serve
- {{ default "/data" .Values.storage.uri | quote }}
- --host=0.0.0.0
- --port=2333
- --drain-timeout={{ int .Values.drainSeconds }}s
{{- if and .Values.storage.uri (include "joust.hasVolume" .) }}
- --catalog=/data/catalog.db
{{- end }}
{{- if .Values.auth.existingSecret }}
- --api-key-file=/etc/joust/auth/admin-key
{{- end }}
{{- if .Values.tls.existingSecret }}
- --tls-cert=/etc/joust/tls/tls.crt
- --tls-key=/etc/joust/tls/tls.key
{{- end }}
{{- /* Helm parses every number as a float and prints large ones as 1e+09. */}}
{{- range $key, $value := .Values.storage.options }}
- {{ printf "--storage-option=%s=%s" $key (ternary (printf "%d" (int64 $value)) (toString $value) (kindIs "float64" $value)) | quote }}
{{- end }}
{{- range $name, $value := .Values.options }}
{{- $values := ternary $value (list $value) (kindIs "slice" $value) }}
{{- range $values }}
- {{ printf "--%s=%s" $name (ternary (printf "%d" (int64 .)) (toString .) (kindIs "float64" .)) | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "joust.podTemplate" -}}
metadata:
  labels:
    {{- include "joust.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "joust.serviceAccountName" . }}
  automountServiceAccountToken: false
  # A service named joust would set JOUST_PORT to tcp://..., which joust would read as its port.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add (int .Values.preStopSeconds) (int .Values.drainSeconds) 15 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: joust
      image: {{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        {{- include "joust.args" . | nindent 8 }}
      ports:
        - name: http
          containerPort: 2333
      {{- if or .Values.catalog.postgres.existingSecret .Values.extraEnv }}
      env:
        {{- if .Values.catalog.postgres.existingSecret }}
        - name: JOUST_CATALOG
          valueFrom:
            secretKeyRef:
              name: {{ .Values.catalog.postgres.existingSecret }}
              key: {{ .Values.catalog.postgres.key }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- with .Values.storage.credentialsSecret }}
      envFrom:
        - secretRef:
            name: {{ . }}
      {{- end }}
      startupProbe:
        {{- include "joust.probe" (dict "path" "/healthz" "tls" .Values.tls.existingSecret) | nindent 8 }}
        periodSeconds: 5
        failureThreshold: {{ .Values.probes.startup.failureThreshold }}
      readinessProbe:
        {{- include "joust.probe" (dict "path" "/readyz" "tls" .Values.tls.existingSecret) | nindent 8 }}
        periodSeconds: {{ .Values.probes.readiness.periodSeconds }}
        failureThreshold: {{ .Values.probes.readiness.failureThreshold }}
      livenessProbe:
        {{- include "joust.probe" (dict "path" "/healthz" "tls" .Values.tls.existingSecret) | nindent 8 }}
        periodSeconds: {{ .Values.probes.liveness.periodSeconds }}
        failureThreshold: {{ .Values.probes.liveness.failureThreshold }}
      lifecycle:
        preStop:
          exec:
            command: [sleep, {{ .Values.preStopSeconds | quote }}]
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: tmp
          mountPath: /tmp
        {{- if include "joust.hasVolume" . }}
        - name: data
          mountPath: /data
        {{- end }}
        {{- if .Values.auth.existingSecret }}
        - name: auth
          mountPath: /etc/joust/auth
          readOnly: true
        {{- end }}
        {{- if .Values.tls.existingSecret }}
        - name: tls
          mountPath: /etc/joust/tls
          readOnly: true
        {{- end }}
  volumes:
    - name: tmp
      emptyDir:
        sizeLimit: {{ .Values.tmp.sizeLimit }}
    {{- if and (include "joust.hasVolume" .) .Values.storage.volume.existingClaim }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ .Values.storage.volume.existingClaim }}
    {{- end }}
    {{- if .Values.auth.existingSecret }}
    - name: auth
      secret:
        secretName: {{ .Values.auth.existingSecret }}
        items:
          - key: {{ .Values.auth.key }}
            path: admin-key
    {{- end }}
    {{- if .Values.tls.existingSecret }}
    - name: tls
      secret:
        secretName: {{ .Values.tls.existingSecret }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
