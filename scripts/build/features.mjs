/** The optional cloud stores of the engine: features of joust-core and joust-node. */
export const FEATURES = ["aws", "azure", "gcp"];

/**
 * The features that JOUST_FEATURES selects: unset for all, `local` for none, or a list such as `aws,gcp`.
 *
 * @param {string | undefined} value
 * @returns {string[]} in the order of FEATURES
 */
export function chosenFeatures(value = process.env.JOUST_FEATURES) {
  if (!value) return [...FEATURES];
  const names = value.split(",").map((name) => name.trim());
  if (names.length === 1 && names[0] === "local") return [];
  const unknown = names.filter((name) => !FEATURES.includes(name));
  if (unknown.length > 0) {
    throw new Error(
      `JOUST_FEATURES is "${value}": set it to local (only local disks) or to a list of ${FEATURES.join(", ")}`,
    );
  }
  return FEATURES.filter((name) => names.includes(name));
}

/** The flags of cargo for these features; none for all features, the default of cargo. */
export function featureFlags(features = chosenFeatures()) {
  if (features.length === FEATURES.length) return [];
  const chosen = features.length > 0 ? ["--features", features.join(",")] : [];
  return ["--no-default-features", ...chosen];
}
