import { describe, expect, it } from 'vitest'
import { encodeEvidence } from '../../../src/chain/consensus/evidence.ts'
import type { Evidence } from '../../../src/chain/consensus/types.ts'
import type { EvidenceVerdict } from '../../../src/consensus/application.ts'
import { readEvidenceJson } from '../../../src/rpc/comet/json/evidence.ts'
import { createNodeService } from '../../../src/threads/nodeService.ts'
import { COMETBFT } from '../rpc/comet/cometbftVectors.ts'
import { roundStateView } from '../rpc/comet/roundState.ts'
import { createSignedChain } from '../rpc/comet/signedChain.ts'

const EVIDENCE = readEvidenceJson(COMETBFT.values.evidence[0])

function setUp(verdict: EvidenceVerdict) {
  const added: Evidence[] = []
  const service = createNodeService({
    roundState: () => undefined,
    heightTimes: () => ({ startMs: 0, commitMs: 0 }),
    network: async () => ({ listening: true, listeners: [], peers: [] }),
    checkEvidence: async () => verdict,
    addEvidence: (evidence) => void added.push(evidence),
  })
  return { added, service }
}

describe('submitEvidence', () => {
  it.each<[EvidenceVerdict, unknown, number]>([
    [{ verdict: 'valid' }, { accepted: true }, 1],
    [{ verdict: 'committed' }, { accepted: true }, 0],
    [{ verdict: 'expired' }, { accepted: false, reason: 'evidence from height 5 is too old' }, 0],
    [{ verdict: 'early' }, { accepted: false, reason: "don't have header #5" }, 0],
    [{ verdict: 'invalid', reason: 'no' }, { accepted: false, reason: 'no' }, 0],
  ])('%j', async (verdict, report, count) => {
    const { service, added } = setUp(verdict)
    expect(await service.submitEvidence(encodeEvidence(EVIDENCE))).toEqual(report)
    expect(added).toEqual(Array(count).fill(EVIDENCE))
  })
})

describe('roundState', () => {
  it('is nothing while consensus does not run', async () => {
    expect(await setUp({ verdict: 'valid' }).service.roundState('full')).toBeUndefined()
  })

  it('can cross a thread in both forms', async () => {
    const chain = createSignedChain([{}])
    const service = createNodeService({
      roundState: () => roundStateView(chain),
      heightTimes: () => ({ startMs: 0, commitMs: 0 }),
      network: async () => ({ listening: true, listeners: [], peers: [] }),
      checkEvidence: async () => ({ verdict: 'valid' }),
      addEvidence: () => undefined,
    })
    expect(structuredClone(await service.roundState('simple'))).toMatchObject({ 'height/round/step': '2/0/4' })
    expect(structuredClone(await service.roundState('full'))).toMatchObject({ height: '2', step: 4 })
  })
})
