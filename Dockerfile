# A server without agents: docker build --tag parley .
# An image with agents is made from it; see docs/hosting.md.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags="-s -w -X github.com/parley-run/parley.version=${VERSION}" -o /parley ./cmd/parley
RUN go run ./packaging/notices > /THIRD_PARTY_NOTICES.txt

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /src/LICENSE /THIRD_PARTY_NOTICES.txt /usr/share/doc/parley/
COPY --from=build /parley /parley
WORKDIR /agents
EXPOSE 8080
ENTRYPOINT ["/parley"]
ENV PARLEY_LOG_FORMAT=json
# Who may call has to be said, with PARLEY_ACCESS or --access. The port is no
# variable, since Kubernetes sets PARLEY_PORT where a service is called parley.
CMD ["api_server", "--agent_dir", "/agents", "--host", "0.0.0.0", "--port", "8080"]
