import { invalidInput } from "../errors.js";

/** What says where the server's stores are and as whom it works there: the operator's to set. */
const RESERVED =
  /endpoint|url|host|proxy|metadata|bucket|container|account|access_key|secret|token|credential|client_id|tenant|authority|identity|role|application|emulator|allow_http|allow_invalid|skip_signature/;

/** What a client may know of the operator's options; it needs them to open a table's location itself. */
const PUBLIC =
  /^((aws|azure_storage|google)_)?(default_)?(region|endpoint|endpoint_url|allow_http|virtual_hosted_style_request|account_name)$/;

/** A client's overrides for one table. @throws code 13 for one that would lead the server elsewhere */
export function checkStorageOptions(options: Record<string, string>): Record<string, string> {
  for (const name of Object.keys(options)) {
    if (RESERVED.test(name.toLowerCase())) {
      throw invalidInput(
        `storage option ${JSON.stringify(name)} is set by the server's operator: leave it out`,
      );
    }
  }
  return options;
}

/** The options that a reply may show, undefined when there are none. */
export function publicStorageOptions(
  options: Record<string, string>,
): Record<string, string> | undefined {
  const shown = Object.entries(options).filter(([name]) => PUBLIC.test(name.toLowerCase()));
  return shown.length > 0 ? Object.fromEntries(shown) : undefined;
}
