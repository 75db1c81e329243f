import { isRemote } from "../../foundation/addresses.js";
import { invalidInput } from "../../foundation/errors.js";

/** What a client may know of the operator's options; it needs them to open a table's location itself. */
const PUBLIC =
  /^((aws|azure_storage|google)_)?(default_)?(region|endpoint|endpoint_url|allow_http|virtual_hosted_style_request|account_name)$/;

/** An option that a client may set for a table of its own. */
interface Allowed {
  /** What its values are, for the error. */
  readonly values: string;
  takes(value: string): boolean;
}

const matching = (values: string, pattern: RegExp): Allowed => ({
  values,
  takes: (value) => pattern.test(value),
});

const LEAST_SECONDS = 1;
const MOST_SECONDS = 600;

/** How long a request to the store may take. A client that may set it may neither break nor block its table. */
const duration: Allowed = {
  values: `a time from ${LEAST_SECONDS}s to ${MOST_SECONDS / 60}m, such as 30s`,
  takes(value) {
    const [, number, minutes] =
      /^(\d{1,4}) ?(?:s|secs?|seconds?|(m|mins?|minutes?))$/.exec(value) ?? [];
    const seconds = Number(number) * (minutes === undefined ? 1 : 60);
    return seconds >= LEAST_SECONDS && seconds <= MOST_SECONDS;
  },
};

/** Becomes a part of a host name of the store's: one label, which nothing can be put behind. */
const region = matching(
  "a region such as us-east-1: at most 40 lower-case letters, digits and hyphens",
  /^(?=.{1,40}$)[a-z0-9]+(-[a-z0-9]+)*$/,
);

const flag = matching("true or false", /^(true|false)$/);

/** Every store's. */
const common: Readonly<Record<string, Allowed>> = { timeout: duration, connect_timeout: duration };

/** Sent to the store in headers, which name no other place. */
const encryption: Readonly<Record<string, Allowed>> = {
  aws_server_side_encryption: matching(
    "AES256, aws:kms or aws:kms:dsse",
    /^(AES256|aws:kms|aws:kms:dsse)$/,
  ),
  aws_sse_kms_key_id: matching(
    "a key's id or ARN: at most 256 letters, digits and the characters : / _ -",
    /^[A-Za-z0-9:/_-]{1,256}$/,
  ),
  aws_sse_bucket_key_enabled: flag,
};

/** By the scheme of the root; of other stores only the common ones. */
const ofKind: Readonly<Record<string, Readonly<Record<string, Allowed>>>> = {
  s3: { ...common, aws_region: region, ...encryption },
};

/** Other names that the stores take for the same options. */
const names: Readonly<Record<string, string>> = {
  region: "aws_region",
  aws_default_region: "aws_region",
  default_region: "aws_region",
  server_side_encryption: "aws_server_side_encryption",
  sse_kms_key_id: "aws_sse_kms_key_id",
  sse_bucket_key_enabled: "aws_sse_bucket_key_enabled",
};

/**
 * A client's options for the files of one table in `root`, under one name each. Options that are not listed here
 * belong to the operator: they say where the server's stores are, as whom it works there, or how.
 *
 * @throws code 13 for any other option, and for a value that is not of its kind
 */
export function checkStorageOptions(
  root: string,
  options: Readonly<Record<string, string>>,
): Record<string, string> {
  const allowed = allowedIn(root);
  const checked: Record<string, string> = {};
  for (const [given, value] of Object.entries(options)) {
    const lower = given.toLowerCase();
    const name = Object.hasOwn(names, lower) ? (names[lower] as string) : lower;
    const option = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
    const shown = JSON.stringify(given.slice(0, 80));
    if (!option) {
      throw invalidInput(
        `storage option ${shown} is set by the server's operator: leave it out; a client may set ${Object.keys(allowed).join(", ")}`,
      );
    }
    if (!option.takes(value))
      throw invalidInput(`storage option ${shown} must be ${option.values}`);
    if ((checked[name] ?? value) !== value) {
      throw invalidInput(`storage option ${shown} is given twice, with two values: give it once`);
    }
    checked[name] = value;
  }
  return checked;
}

/** A local root has no store that would read them: clients send the same ones everywhere. */
function allowedIn(root: string): Readonly<Record<string, Allowed>> {
  if (!isRemote(root)) return Object.assign({}, ...Object.values(ofKind));
  const [scheme = ""] = root.toLowerCase().split("://");
  return ofKind[scheme] ?? common;
}

/** The options that a reply may show, undefined when there are none. */
export function publicStorageOptions(
  options: Record<string, string>,
): Record<string, string> | undefined {
  const shown = Object.entries(options).filter(([name]) => PUBLIC.test(name.toLowerCase()));
  return shown.length > 0 ? Object.fromEntries(shown) : undefined;
}
