/**
 * The `repository` of a published package: the one in package.json, else the one whose GitHub workflow packs it. npm
 * accepts a package with provenance only from a workflow of its `repository`.
 *
 * @param {{ repository?: object | string }} manifest of the main package
 * @param {string | undefined} workflow the workflow's repository as OWNER/NAME
 * @returns {{ repository?: object | string }} nothing if neither is known
 */
export function publishedRepository({ repository }, workflow = process.env.GITHUB_REPOSITORY) {
  if (repository !== undefined) return { repository };
  return workflow ? { repository: { type: "git", url: repositoryUrl(workflow) } } : {};
}

/** @param {string} name OWNER/NAME */
export const repositoryUrl = (name) => `git+https://github.com/${name}.git`;
