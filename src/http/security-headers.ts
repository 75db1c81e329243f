/** Seconds for which a browser uses only HTTPS: a year. */
const HSTS_AGE = 31_536_000;

/**
 * Headers of every reply, names and values in turn. They tell a browser to take no reply for another type, to give no
 * reply to pages of other origins, and to send no address of this server to others.
 */
export const securityHeaders = (tls: boolean): readonly string[] => [
  ...["x-content-type-options", "nosniff"],
  ...["cross-origin-resource-policy", "same-origin"],
  ...["referrer-policy", "no-referrer"],
  ...(tls ? ["strict-transport-security", `max-age=${HSTS_AGE}`] : []),
];
