import { badBlockMethods } from '../debug/badBlocks.ts'
import { executionWitness } from '../debug/executionWitness.ts'
import { intermediateRoots } from '../debug/intermediateRoots.ts'
import { rawMethods } from '../debug/raw.ts'
import { stateRangeMethods } from '../debug/stateRanges.ts'
import { traceMethods } from '../debug/traces.ts'
import { getRawBlockAccessList } from '../eth/blockAccessLists.ts'
import { createFilterMethods, type FilterMethodsOptions } from '../eth/filterMethods.ts'
import { ethMethods } from '../eth/methods.ts'
import { txpoolMethods } from '../eth/txpool.ts'
import { testingMethods } from '../testingNamespace/buildBlock.ts'
import { traceNamespaceMethods } from '../trace/methods.ts'
import { createMethodTable, type MethodTable } from './method.ts'
import { netMethods, web3Methods } from './nodeMethods.ts'

const viewMethods = [
  ...ethMethods,
  ...netMethods,
  ...web3Methods,
  ...txpoolMethods,
  ...rawMethods,
  getRawBlockAccessList,
  ...traceMethods,
  ...badBlockMethods,
  ...stateRangeMethods,
  intermediateRoots,
  executionWitness,
  ...testingMethods,
  ...traceNamespaceMethods,
]

/**
 * All methods but those of filters, which need the thread that has the filters: the table of a view thread. A new method is defined in a file
 * of its namespace (`eth/blocks.ts`) with `defineMethod`, and listed in the table of the namespace (`eth/methods.ts`); one that changes
 * something is listed in `batch.ts` too.
 */
export const METHODS: MethodTable = createMethodTable(viewMethods)

/** All methods: the table of a socket thread. */
export function createSocketMethods(options: FilterMethodsOptions): MethodTable {
  return createMethodTable([...viewMethods, ...createFilterMethods(options)])
}
