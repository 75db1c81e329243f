// The health check of the image: exits with 0 if joust answers on the loopback address of the container. It reads the
// port and the certificate from the environment, as joust does.
import { get as getHttp } from "node:http";
import { get as getHttps } from "node:https";

const { JOUST_PORT: port = "2333", JOUST_TLS_CERT: certificate } = process.env;
const get = certificate ? getHttps : getHttp;
// The certificate names the service, not the loopback address.
const options = { host: "127.0.0.1", port, path: "/healthz", rejectUnauthorized: false };

const request = get(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1));
request.setTimeout(4_000, () => process.exit(1));
request.on("error", ({ message }) => {
  console.error(`joust does not answer on port ${port}: ${message}`);
  process.exit(1);
});
