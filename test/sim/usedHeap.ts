import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Bytes that are reachable now. */
export function usedHeap(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
