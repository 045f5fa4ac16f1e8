import type { NodeInfo } from '../comet/json/nodeInfoJson.ts'

/** What queries tell about the node itself; it does not change while the node runs. */
export interface NodeDescription {
  readonly identity: NodeInfo
  /** blocks of state that are kept; 0: all */
  readonly pruningWindow: number
}
