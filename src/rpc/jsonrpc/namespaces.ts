import { createDiscover } from '../discover/discover.ts'
import { createMethodTable, defineMethod, type MethodTable, type RpcMethod } from './method.ts'

/**
 * Returns the methods of a listener that serves `namespaces`. They include `rpc_modules`, geth's
 * list of namespaces with their versions, which never changed, and `rpc_discover`, which describes
 * all methods.
 */
export function methodsOf(methods: MethodTable, namespaces: ReadonlySet<string>): MethodTable {
  const served = [...methods.values()].filter(({ name }) => namespaces.has(namespaceOf(name)))
  const described = createMethodTable([...served, rpcModules(namespaces)])
  return createMethodTable([...described.values(), createDiscover(described, namespaces)])
}

/** Returns the part of a method's name before the first `_`; empty when there is no `_`. */
export function namespaceOf(method: string): string {
  return method.slice(0, Math.max(0, method.indexOf('_')))
}

function rpcModules(namespaces: ReadonlySet<string>): RpcMethod {
  const modules = Object.fromEntries([...namespaces, 'rpc'].sort().map((name) => [name, '1.0']))
  return defineMethod({ name: 'rpc_modules', runs: 'socket', run: () => modules })
}
