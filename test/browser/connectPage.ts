import { createFileRegistry, fromBinary } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web'

/* A page of another origin that asks the node by connect-web. */

const TRANSPORTS = {
  'gRPC-Web': (baseUrl: string) => createGrpcWebTransport({ baseUrl }),
  Connect: (baseUrl: string) => createConnectTransport({ baseUrl, useBinaryFormat: true }),
  'Connect with JSON': (baseUrl: string) => createConnectTransport({ baseUrl }),
} as const

export type TransportName = keyof typeof TRANSPORTS

/** What the page has got. */
export interface Asked {
  readonly amount: string
  readonly height: string | null
  /** the code of gRPC for an address that is none */
  readonly errorCode: number | undefined
}

/** @param descriptors a FileDescriptorSet with the bank's service, in base64 */
export async function ask(name: TransportName, baseUrl: string, descriptors: string, address: string): Promise<Asked> {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, base64Decode(descriptors)))
  const client = createClient(registry.getService('cosmos.bank.v1beta1.Query')!, TRANSPORTS[name](baseUrl))
  const balance = client.balance as unknown as (
    request: { readonly address: string; readonly denom: string },
    options?: { readonly onHeader: (headers: Headers) => void },
  ) => Promise<{ readonly balance: { readonly amount: string } }>
  let height: string | null = null
  const onHeader = (headers: Headers): void => {
    height = headers.get('x-cosmos-block-height')
  }
  const answer = await balance({ address, denom: 'acoin' }, { onHeader })
  const error = await balance({ address: 'nobody', denom: 'acoin' }).then(
    () => undefined,
    (reason: unknown) => ConnectError.from(reason),
  )
  return { amount: answer.balance.amount, height, errorCode: error?.code }
}

Object.assign(globalThis, { ask })
