import {
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from "@opentelemetry/resources";

/**
 * What all spans and metrics of this process have in common. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
 * override the defaults. The SDK's detector of process attributes is not used: it would send the command line.
 */
export function otlpResource(version: string, instanceId: string): Resource {
  return resourceFromAttributes({
    "service.name": "joust",
    "service.version": version,
    "service.instance.id": instanceId,
  }).merge(detectResources({ detectors: [envDetector] }));
}
