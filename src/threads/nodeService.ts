import { decodeEvidence } from '../chain/consensus/evidence.ts'
import type { Evidence } from '../chain/consensus/types.ts'
import type { EvidenceVerdict } from '../consensus/application.ts'
import type { RoundStateView } from '../consensus/roundStateView.ts'
import type { CometNode, EvidenceReport } from '../rpc/comet/env.ts'
import { fullRoundStateJson, type HeightTimes, simpleRoundStateJson } from '../rpc/comet/json/roundState.ts'

/** What socket threads ask of the main thread. */
export type NodeService = {
  readonly [K in keyof CometNode]: (...args: Parameters<CometNode[K]>) => ReturnType<CometNode[K]>
}

interface NodeServiceOptions {
  /** undefined while consensus does not run */
  readonly roundState: () => RoundStateView | undefined
  readonly heightTimes: () => HeightTimes
  readonly network: CometNode['network']
  readonly checkEvidence: (evidence: Evidence) => Promise<EvidenceVerdict>
  /** takes evidence that is valid and new */
  readonly addEvidence: (evidence: Evidence) => void
}

/** Serves {@link CometNode} where consensus runs. */
export function createNodeService(options: NodeServiceOptions): NodeService {
  const { roundState, heightTimes, network, checkEvidence, addEvidence } = options
  return {
    roundState: async (form) => {
      const state = roundState()
      if (state === undefined) return undefined
      return form === 'full' ? fullRoundStateJson(state, heightTimes()) : simpleRoundStateJson(state, heightTimes())
    },
    network,
    submitEvidence: async (bytes): Promise<EvidenceReport> => {
      const evidence = decodeEvidence(bytes)
      const verdict = await checkEvidence(evidence)
      switch (verdict.verdict) {
        case 'valid':
          addEvidence(evidence)
          return { accepted: true }
        case 'committed':
          return { accepted: true }
        case 'expired':
          return { accepted: false, reason: `evidence from height ${evidence.voteA.height} is too old` }
        case 'early':
          return { accepted: false, reason: `don't have header #${evidence.voteA.height}` }
        case 'invalid':
          return { accepted: false, reason: verdict.reason }
      }
    },
  }
}
