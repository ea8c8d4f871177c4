const { absent } = require("../prelude/absent.js");

// Libraries look at them before they know whether they will connect.
const headers =
  "accept_encoding accept_language accept_ranges accept access_control_allow_credentials access_control_allow_headers access_control_allow_methods access_control_allow_origin access_control_expose_headers access_control_request_headers access_control_request_method age authorization cache_control connection content_disposition content_encoding content_length content_type cookie date etag forwarded host if_modified_since if_none_match if_range last_modified link location range referer server set_cookie strict_transport_security transfer_encoding te upgrade_insecure_requests upgrade user_agent vary x_content_type_options x_frame_options keep_alive proxy_connection x_xss_protection alt_svc content_security_policy early_data expect_ct origin purpose timing_allow_origin x_forwarded_for priority accept_charset access_control_max_age allow content_language content_location content_md5 content_range dnt expect expires from if_match if_unmodified_since max_forwards prefer proxy_authenticate proxy_authorization refresh retry_after trailer tk via warning www_authenticate http2_settings".split(" ");
const constants = {
  NGHTTP2_SESSION_SERVER: 0,
  NGHTTP2_SESSION_CLIENT: 1,
  NGHTTP2_SETTINGS_HEADER_TABLE_SIZE: 1,
  NGHTTP2_SETTINGS_ENABLE_PUSH: 2,
  NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS: 3,
  NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE: 4,
  NGHTTP2_SETTINGS_MAX_FRAME_SIZE: 5,
  NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE: 6,
};
for (const name of headers) constants[`HTTP2_HEADER_${name.toUpperCase()}`] = name.replaceAll("_", "-");
for (const name of ["status", "method", "authority", "scheme", "path", "protocol"]) constants[`HTTP2_HEADER_${name.toUpperCase()}`] = `:${name}`;
const errors =
  "NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT STREAM_CLOSED FRAME_SIZE_ERROR REFUSED_STREAM CANCEL COMPRESSION_ERROR CONNECT_ERROR ENHANCE_YOUR_CALM INADEQUATE_SECURITY HTTP_1_1_REQUIRED".split(" ");
errors.forEach((name, code) => (constants[`NGHTTP2_${name}`] = code));

module.exports = absent(
  "node:http2",
  "make requests with fetch, which speaks HTTP/2 where servers do, or with node:https",
  "connect createServer createSecureServer getDefaultSettings getPackedSettings getUnpackedSettings performServerHandshake sensitiveHeaders Http2ServerRequest Http2ServerResponse",
  { constants },
);
