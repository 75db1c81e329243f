import { describe, expect, it } from "vitest";
import {
  checkStorageOptions,
  publicStorageOptions,
} from "../../../src/operations/tables/storage-options.js";

const root = "s3://bucket/tables";

describe("storage options", () => {
  it("are returned to clients without secrets", () => {
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

  it.each([
    ["aws_region", "us-east-1"],
    ["aws_region", "auto"],
    ["timeout", "30s"],
    ["timeout", "10 minutes"],
    ["connect_timeout", "1s"],
    ["aws_server_side_encryption", "aws:kms"],
    ["aws_sse_kms_key_id", "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab"],
    ["aws_sse_bucket_key_enabled", "true"],
  ])("may include %s=%s from a client", (name, value) => {
    expect(checkStorageOptions(root, { [name]: value })).toEqual({ [name]: value });
    expect(checkStorageOptions("/var/data", { [name]: value })).toEqual({ [name]: value });
  });

  it.each(["region", "REGION", "AWS_REGION", "aws_default_region", "default_region"])(
    "store %s under one name",
    (name) => {
      expect(checkStorageOptions(root, { [name]: "eu-west-1" })).toEqual({
        aws_region: "eu-west-1",
      });
    },
  );

  it("must agree if two names mean the same option", () => {
    const both = (other: string) => ({ aws_region: "eu-west-1", REGION: other });
    expect(checkStorageOptions(root, both("eu-west-1"))).toEqual({ aws_region: "eu-west-1" });
    expect(() => checkStorageOptions(root, both("eu-west-2"))).toThrow(/twice/);
  });

  it.each([
    "x@127.0.0.1:9443/",
    "us-east-1.evil.example",
    "us-east-1/",
    "a:1",
    "a?b",
    "a#b",
    "a%2eb",
    "a b",
    "a\n",
    "-a",
    "a-",
    "US-EAST-1",
    "é",
    "",
    "a".repeat(41),
  ])("reject a region %j, which could become part of another host name", (value) => {
    for (const name of ["aws_region", "region", "AWS_DEFAULT_REGION"]) {
      expect(() => checkStorageOptions(root, { [name]: value })).toThrow(/must be a region/);
    }
  });

  it.each(["", "0s", "1ms", "11m", "601s", "30", "1h", "9999m", "-1s", "30s 30s", "30s\n"])(
    "reject a timeout of %j",
    (value) => {
      expect(() => checkStorageOptions(root, { timeout: value })).toThrow(/must be a time/);
      expect(() => checkStorageOptions(root, { connect_timeout: value })).toThrow(/must be a time/);
    },
  );

  it("reject encryption with a key of the client", () => {
    const wrong = { aws_server_side_encryption: "sse-c" };
    expect(() => checkStorageOptions(root, wrong)).toThrow(/AES256/);
    const broken = { aws_sse_kms_key_id: "a\r\nx-evil: 1" };
    expect(() => checkStorageOptions(root, broken)).toThrow(/must be a key/);
  });

  it.each([
    "endpoint",
    "AWS_ENDPOINT_URL",
    "aws_endpoint_url_s3",
    "aws_endpoint_url_sts",
    "aws_access_key_id",
    "aws_session_token",
    "aws_role_arn",
    "aws_imdsv1_fallback",
    "imdsv1_fallback",
    "aws_metadata_endpoint",
    "aws_container_credentials_full_uri",
    "aws_web_identity_token_file",
    "aws_provider_scheme",
    "aws_virtual_hosted_style_request",
    "aws_s3_express",
    "aws_skip_signature",
    "aws_sse_customer_key_base64",
    "azure_storage_sas_token",
    "azure_use_azure_cli",
    "use_azure_cli",
    "azure_use_fabric_endpoint",
    "fabric_workload_host",
    "azure_msi_endpoint",
    "google_application_credentials",
    "google_service_account",
    "google_base_url",
    "base_url",
    "proxy_url",
    "proxy_ca_certificate",
    "allow_invalid_certificates",
    "allow_http",
    "bucket",
    "metadata_endpoint",
    "client_max_retries",
    "client_retry_timeout",
    "download_retry_count",
    "user_agent",
    "headers.authorization",
    "use_opendal",
    "base_1.timeout",
    "expires_at_millis",
    "__proto__",
    "constructor",
    "toString",
    "",
  ])("reject %j from a client", (name) => {
    for (const place of [root, "gs://bucket", "az://container", "/var/data"]) {
      const options = Object.fromEntries([[name, "30s"]]);
      expect(() => checkStorageOptions(place, options)).toThrow(/operator/);
    }
  });

  it("of one kind of store are rejected for another kind", () => {
    for (const place of ["gs://bucket", "az://container/tables", "abfss://container"]) {
      const region = { aws_region: "us-east-1" };
      expect(() => checkStorageOptions(place, region)).toThrow(/operator.*timeout/);
      expect(checkStorageOptions(place, { timeout: "30s" })).toEqual({ timeout: "30s" });
    }
  });
});
