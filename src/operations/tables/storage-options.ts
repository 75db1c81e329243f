import { isRemote } from "../../foundation/addresses.js";
import { invalidInput } from "../../foundation/errors.js";

/** The operator's options that a client may see. It needs them to open a table's location itself. */
const PUBLIC =
  /^((aws|azure_storage|google)_)?(default_)?(region|endpoint|endpoint_url|allow_http|virtual_hosted_style_request|account_name)$/;

/** An option that a client may set for one table. */
interface AllowedOption {
  /** The valid values, for the error message. */
  readonly values: string;
  isValid(value: string): boolean;
}

const matching = (values: string, pattern: RegExp): AllowedOption => ({
  values,
  isValid: (value) => pattern.test(value),
});

const MIN_SECONDS = 1;
const MAX_SECONDS = 600;

/** The timeout of a request to the store. The limits keep a client from breaking or blocking its table. */
const duration: AllowedOption = {
  values: `a time from ${MIN_SECONDS}s to ${MAX_SECONDS / 60}m, such as 30s`,
  isValid(value) {
    const [, number, minutes] =
      /^(\d{1,4}) ?(?:s|secs?|seconds?|(m|mins?|minutes?))$/.exec(value) ?? [];
    const seconds = Number(number) * (minutes === undefined ? 1 : 60);
    return seconds >= MIN_SECONDS && seconds <= MAX_SECONDS;
  },
};

/** Becomes a part of the store's host name: the pattern allows one label and no suffix. */
const region = matching(
  "a region such as us-east-1: at most 40 lower-case letters, digits and hyphens",
  /^(?=.{1,40}$)[a-z0-9]+(-[a-z0-9]+)*$/,
);

const flag = matching("true or false", /^(true|false)$/);

/** Options of every store. */
const common: Readonly<Record<string, AllowedOption>> = {
  timeout: duration,
  connect_timeout: duration,
};

/** Sent to the store in headers; they cannot select another location. */
const encryption: Readonly<Record<string, AllowedOption>> = {
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

/** By the scheme of the root. Other stores have only the common options. */
const byScheme: Readonly<Record<string, Readonly<Record<string, AllowedOption>>>> = {
  s3: { ...common, aws_region: region, ...encryption },
};

/** Other names of the same options. */
const aliases: Readonly<Record<string, string>> = {
  region: "aws_region",
  aws_default_region: "aws_region",
  default_region: "aws_region",
  server_side_encryption: "aws_server_side_encryption",
  sse_kms_key_id: "aws_sse_kms_key_id",
  sse_bucket_key_enabled: "aws_sse_bucket_key_enabled",
};

/**
 * Checks a client's options for the files of one table in `root`, and replaces aliases. All other options belong to the
 * operator: they select the store, its credentials and its behaviour.
 *
 * @throws code 13 for another option or an invalid value
 */
export function checkStorageOptions(
  root: string,
  options: Readonly<Record<string, string>>,
): Record<string, string> {
  const allowed = allowedIn(root);
  const checked: Record<string, string> = {};
  for (const [key, value] of Object.entries(options)) {
    const lower = key.toLowerCase();
    const name = Object.hasOwn(aliases, lower) ? (aliases[lower] as string) : lower;
    const option = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
    const quoted = JSON.stringify(key.slice(0, 80));
    if (!option) {
      throw invalidInput(
        `only the operator of the server sets the storage option ${quoted}: leave it out; a client may set ${Object.keys(allowed).join(", ")}`,
      );
    }
    if (!option.isValid(value)) {
      throw invalidInput(`storage option ${quoted} must be ${option.values}`);
    }
    if ((checked[name] ?? value) !== value) {
      throw invalidInput(
        `storage option ${quoted} appears twice with different values: send it once`,
      );
    }
    checked[name] = value;
  }
  return checked;
}

/** A local root allows all options: clients send the same ones to every server, and no store reads them. */
function allowedIn(root: string): Readonly<Record<string, AllowedOption>> {
  if (!isRemote(root)) return Object.assign({}, ...Object.values(byScheme));
  const [scheme = ""] = root.toLowerCase().split("://");
  return byScheme[scheme] ?? common;
}

/** The options that a reply may contain; undefined if there are none. */
export function publicStorageOptions(
  options: Record<string, string>,
): Record<string, string> | undefined {
  const visible = Object.entries(options).filter(([name]) => PUBLIC.test(name.toLowerCase()));
  return visible.length > 0 ? Object.fromEntries(visible) : undefined;
}
