import { rawMethods } from './debug/raw.ts'
import { traceMethods } from './debug/traces.ts'
import { createFilterMethods, type FilterMethodsOptions } from './eth/filterMethods.ts'
import { ethMethods } from './eth/methods.ts'
import { createMethodTable, type MethodTable } from './method.ts'
import { netMethods, rpcModules, web3Methods } from './nodeMethods.ts'
import { txpoolMethods } from './txpool.ts'

const viewMethods = [
  ...ethMethods,
  ...netMethods,
  ...web3Methods,
  ...txpoolMethods,
  ...rawMethods,
  ...traceMethods,
  rpcModules,
]

/** All methods but those of filters, which need their owner: the table of a view thread. */
export const METHODS: MethodTable = createMethodTable(viewMethods)

/** All methods: the table of a socket thread. */
export function createSocketMethods(options: FilterMethodsOptions): MethodTable {
  return createMethodTable([...viewMethods, ...createFilterMethods(options)])
}
