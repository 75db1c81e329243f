import { describe, expect, it } from "vitest";
import { checkStorageOptions, publicStorageOptions } from "../../src/operations/storage-options.js";

describe("storage options", () => {
  it("are shown to clients without anything secret", () => {
    const shown = publicStorageOptions({
      aws_access_key_id: "id",
      aws_secret_access_key: "secret",
      AWS_SESSION_TOKEN: "token",
      google_service_account: "/etc/account.json",
      azure_storage_account_key: "key",
      azure_storage_account_name: "name",
      aws_region: "eu-west-1",
      aws_endpoint: "http://localhost:9000",
      allow_http: "true",
    });
    expect(shown).toEqual({
      azure_storage_account_name: "name",
      aws_region: "eu-west-1",
      aws_endpoint: "http://localhost:9000",
      allow_http: "true",
    });
    expect(publicStorageOptions({ secret_access_key: "secret" })).toBeUndefined();
  });

  it.each(["aws_region", "timeout", "connect_timeout", "client_max_retries", "aws_sse_kms"])(
    "%s may come from a client",
    (name) => {
      expect(checkStorageOptions({ [name]: "x" })).toEqual({ [name]: "x" });
    },
  );

  it.each([
    "endpoint",
    "AWS_ENDPOINT_URL",
    "aws_access_key_id",
    "aws_session_token",
    "azure_storage_sas_token",
    "google_application_credentials",
    "google_service_account",
    "azure_msi_endpoint",
    "proxy_url",
    "allow_invalid_certificates",
    "allow_http",
    "bucket",
    "metadata_endpoint",
  ])("%s may not", (name) => {
    expect(() => checkStorageOptions({ [name]: "x" })).toThrow(/operator/);
  });
});
