import { isRemote } from "../foundation/addresses.js";
import { ConfigError, type OptionType } from "./option.js";
import type { OptionValues } from "./options.js";

/** How clients or workers get temporary credentials for the files of a table. */
export interface VendingSettings {
  /** The ARN of the role that STS assumes. */
  readonly role: string;
  /** The address of STS; that of AWS when absent. */
  readonly endpoint?: string;
  readonly lifetimeMs: number;
}

export const roleArn: OptionType<string> = {
  placeholder: "ARN",
  parse(text) {
    if (!/^arn:[a-z-]*:iam::[^:]*:role\/\S+$/.test(text)) {
      throw new Error(
        `must be the ARN of a role such as arn:aws:iam::123456789012:role/joust-readers, got ${JSON.stringify(text)}`,
      );
    }
    return text;
  },
};

const MINUTE = 60_000;
/** The limits of AWS. */
const SHORTEST = 15 * MINUTE;
const LONGEST = 12 * 60 * MINUTE;

/** The store decodes `%`, and policies take the others for patterns. */
const UNNAMEABLE = /[%*]|\$\{/;

/**
 * How a role gives credentials; undefined if the option names none.
 *
 * @throws ConfigError for options that exclude each other or the root
 */
export function vendingOf(
  option: "vend-role" | "ray-vend-role",
  values: Pick<OptionValues, "vend-role" | "ray-vend-role" | "vend-endpoint" | "vend-lifetime">,
  root: string,
): VendingSettings | undefined {
  const { "vend-endpoint": endpoint, "vend-lifetime": lifetimeMs, [option]: role } = values;
  if (lifetimeMs < SHORTEST || lifetimeMs > LONGEST) {
    throw new ConfigError("--vend-lifetime must be from 15m to 12h");
  }
  if (role === undefined) {
    const isUsed = values["vend-role"] !== undefined || values["ray-vend-role"] !== undefined;
    if (endpoint === undefined || isUsed) return undefined;
    throw new ConfigError(
      "--vend-endpoint needs --vend-role or --ray-vend-role: name the role that STS assumes",
    );
  }
  if (!isRemote(root) || !root.startsWith("s3://")) {
    throw new ConfigError(
      `--${option} needs a root in a bucket (s3://...): credentials of AWS do not read ${root}`,
    );
  }
  if (UNNAMEABLE.test(root)) {
    throw new ConfigError(
      `--${option} needs a root without \`%\`, \`*\` and \`\${\`: the policy of temporary credentials cannot name ${root}`,
    );
  }
  return { role, lifetimeMs, ...(endpoint !== undefined && { endpoint }) };
}
