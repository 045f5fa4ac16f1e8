import { createDiscover } from '../discover/discover.ts'
import { createMethodTable, defineMethod, type MethodTable, type RpcMethod } from './method.ts'

/**
 * The methods of a listener that serves `namespaces`, with `rpc_modules`, geth's list of them with their versions, which never changed, and
 * `rpc_discover`, which describes them all.
 */
export function methodsOf(methods: MethodTable, namespaces: ReadonlySet<string>): MethodTable {
  const served = [...methods.values()].filter(({ name }) => namespaces.has(namespaceOf(name)))
  const described = createMethodTable([...served, rpcModules(namespaces)])
  return createMethodTable([...described.values(), createDiscover(described, namespaces)])
}

/** The part of a method's name before the first `_`; empty where there is none. */
export function namespaceOf(method: string): string {
  return method.slice(0, Math.max(0, method.indexOf('_')))
}

function rpcModules(namespaces: ReadonlySet<string>): RpcMethod {
  const modules = Object.fromEntries([...namespaces, 'rpc'].sort().map((name) => [name, '1.0']))
  return defineMethod({ name: 'rpc_modules', runs: 'socket', run: () => modules })
}
