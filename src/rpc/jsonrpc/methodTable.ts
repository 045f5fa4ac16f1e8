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
 * The table of a view thread: all methods except those of filters, which need the thread that has
 * the filters. A new method is defined in a file of its namespace (`eth/blocks.ts`) with
 * `defineMethod`, and listed in the table of the namespace (`eth/methods.ts`). A method that
 * changes something is also listed in `batch.ts`.
 */
export const METHODS: MethodTable = createMethodTable(viewMethods)

/** Creates the table of a socket thread: all methods. */
export function createSocketMethods(options: FilterMethodsOptions): MethodTable {
  return createMethodTable([...viewMethods, ...createFilterMethods(options)])
}
