import { defineMethod, type MethodTable, RawJson, type RpcMethod } from '../jsonrpc/method.ts'
import { METHOD_DESCRIPTIONS } from './methodDescriptions.ts'
import { SCHEMAS, type Schema } from './schemas.ts'

/** Methods that a connection answers itself (`runMethod.ts`), by their namespace: only WebSockets have them. */
const SUBSCRIPTION_METHODS: ReadonlyMap<string, readonly SubscriptionMethod[]> = new Map([
  [
    'eth',
    [
      { name: 'eth_subscribe', required: 1 },
      { name: 'eth_unsubscribe', required: 1 },
    ],
  ],
  [
    'debug',
    [
      { name: 'debug_subscribe', required: 3 },
      { name: 'debug_unsubscribe', required: 1 },
    ],
  ],
])

type SubscriptionMethod = Pick<RpcMethod, 'name' | 'required'>

/** Creates `rpc_discover`: the OpenRPC document of a listener that serves `methods`, made once. */
export function createDiscover(methods: MethodTable, namespaces: ReadonlySet<string>): RpcMethod {
  let document: RawJson | undefined
  return defineMethod({
    name: 'rpc_discover',
    runs: 'socket',
    run: ({ clientVersion }) => {
      document ??= new RawJson(JSON.stringify(openRpcDocument(methods, namespaces, clientVersion)))
      return document
    },
  })
}

function openRpcDocument(methods: MethodTable, namespaces: ReadonlySet<string>, version: string): object {
  const subscriptions = [...namespaces].flatMap((namespace) => SUBSCRIPTION_METHODS.get(namespace) ?? [])
  const own: SubscriptionMethod = { name: 'rpc_discover', required: 0 }
  const all = [...methods.values(), own, ...subscriptions].sort((a, b) => (a.name < b.name ? -1 : 1))
  return {
    openrpc: '1.3.2',
    info: { title: 'coind JSON-RPC', version },
    methods: all.map(describe),
    components: { schemas: SCHEMAS },
  }
}

function describe({ name, required }: SubscriptionMethod): object {
  const description = METHOD_DESCRIPTIONS.get(name)
  if (description === undefined) throw new Error(`the method ${name} has no description for rpc_discover`)
  const params = description.params.map(([param, schema]: readonly [string, Schema], index) => ({
    name: param,
    required: index < required,
    schema,
  }))
  return { name, paramStructure: 'by-position', params, result: { name: 'result', schema: description.result } }
}
