import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, vi } from 'vitest'
import { type FieldValue, visitFields } from '../../src/primitives/protobuf.ts'

const WAIT = { timeout: 60_000, interval: 100 }

/** A span as a collector gets it; IDs in hex. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** empty: it is a root */
  readonly parentSpanId: string
  readonly name: string
  readonly startNs: bigint
  readonly endNs: bigint
  /** of its first link */
  readonly linkedTraceId: string | undefined
  /** its attribute `coind.height` */
  readonly height: bigint | undefined
}

/** A collector of OpenTelemetry: takes `POST /v1/traces`, protobuf of opentelemetry/proto/collector/trace/v1/trace_service.proto. */
export async function startCollector() {
  const spans: CollectedSpan[] = []
  let headers: IncomingHttpHeaders = {}
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    headers = request.headers
    if (request.url === '/v1/traces') spans.push(...readSpans(Buffer.concat(chunks)))
    response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/x-protobuf' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    headers: () => headers,
    /** Waits until the trace has spans with these names; gives its newest spans by name. */
    trace: (isOfTrace: (span: CollectedSpan) => boolean, names: readonly string[]) =>
      vi.waitFor(() => {
        const found = new Map(spans.filter(isOfTrace).map((span) => [span.name, span]))
        expect([...found.keys()]).toEqual(expect.arrayContaining([...names]))
        return found
      }, WAIT),
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}

type Fields = ReadonlyMap<number, readonly FieldValue[]>

function fieldsOf(bytes: Uint8Array): Fields {
  const fields = new Map<number, FieldValue[]>()
  visitFields(bytes, (field, value) => void fields.set(field, [...(fields.get(field) ?? []), value]))
  return fields
}

const messages = (fields: Fields, field: number): Fields[] =>
  (fields.get(field) ?? []).map((value) => fieldsOf(value as Uint8Array))
const hex = (fields: Fields, field: number): string =>
  Buffer.from((fields.get(field)?.[0] as Uint8Array | undefined) ?? []).toString('hex')

/** ExportTraceServiceRequest.resource_spans (1) . scope_spans (2) . spans (2). */
function readSpans(body: Uint8Array): CollectedSpan[] {
  const scopes = messages(fieldsOf(body), 1).flatMap((resource) => messages(resource, 2))
  return scopes
    .flatMap((scope) => messages(scope, 2))
    .map((span) => {
      const height = messages(span, 9).find((attribute) => text(attribute, 1) === 'coind.height')
      const [link] = messages(span, 13)
      return {
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentSpanId: hex(span, 4),
        name: text(span, 5),
        startNs: fixed64(span, 7),
        endNs: fixed64(span, 8),
        linkedTraceId: link && hex(link, 1),
        height: height && (messages(height, 2)[0]!.get(3)![0] as bigint),
      }
    })
}

function text(fields: Fields, field: number): string {
  return Buffer.from(fields.get(field)![0] as Uint8Array).toString()
}

function fixed64(fields: Fields, field: number): bigint {
  const value = fields.get(field)![0]!
  return typeof value === 'bigint' ? value : Buffer.from(value).readBigUInt64LE()
}
