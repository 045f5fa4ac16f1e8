import { describe, expect, it } from 'vitest'
import { roundStateJson } from '../../../../../src/rpc/comet/json/roundState.ts'
import { createCometTest, IDLE_NODE } from '../../../../support/rpc/comet/cometNode.ts'
import { roundState, roundStateView } from '../../../../support/rpc/comet/roundState.ts'
import { createSignedChain } from '../../../../support/rpc/comet/signedChain.ts'

const chain = createSignedChain([{}, {}])
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase()

const times = { startMs: 1_767_225_600_400, commitMs: 1_767_225_600_300 }

describe('consensus_state', () => {
  const { validators } = chain.validatorsAt(3)!
  const hash = hex(chain.blockId(2)!.hash)

  it('shows who has voted, in CometBFT’s words', () => {
    const [round] = roundStateJson(roundStateView(chain), times).simple.height_vote_set
    expect(round).toEqual({
      round: 0,
      prevotes: [
        `Vote{0:${hex(validators[0]!.address).slice(0, 12)} 3/00/SIGNED_MSG_TYPE_PREVOTE(Prevote) ${hash.slice(0, 12)} C0C0C0C0C0C0 000000000000 @ 2026-01-01T00:00:00.12Z}`,
        'nil-Vote',
        `Vote{2:${hex(validators[2]!.address).slice(0, 12)} 3/00/SIGNED_MSG_TYPE_PREVOTE(Prevote) ${hash.slice(0, 12)} C2C2C2C2C2C2 000000000000 @ 2026-01-01T00:00:00.12Z}`,
        'nil-Vote',
      ],
      prevotes_bit_array: 'BA{4:x_x_} 60/100 = 0.60',
      precommits: Array(4).fill('nil-Vote'),
      precommits_bit_array: 'BA{4:____} 0/100 = 0.00',
    })
  })

  it('names height, round, step, proposal and proposer', () => {
    const { height_vote_set, ...rest } = roundStateJson(roundStateView(chain), times).simple
    expect(rest).toEqual({
      'height/round/step': '3/0/4',
      start_time: '2026-01-01T00:00:00.4Z',
      proposal_block_hash: hash,
      locked_block_hash: '',
      valid_block_hash: '',
      proposer: {
        address: hex(validators[chain.validatorsAt(3)!.proposer]!.address),
        index: chain.validatorsAt(3)!.proposer,
      },
    })
  })

  it('a block that is not complete has no hash yet', () => {
    const parts = {
      header: { total: 2, hash: new Uint8Array(32) },
      has: (index: number) => index === 1,
      part: () => undefined,
    }
    const view = roundStateView(chain, { parts })
    expect(roundStateJson(view, times).simple.proposal_block_hash).toBe('')
    expect(roundStateJson(view, times).full.proposal_block_parts).toEqual({
      'count/total': '1/2',
      parts_bit_array: '_x',
    })
  })

  it('the proposer is that of the round, and the newest 16 rounds are shown', () => {
    const shown = roundStateJson(roundStateView(chain, { round: 40 }), times).simple
    const rounds = shown.height_vote_set.map(({ round }) => round)
    expect([rounds[0], rounds.at(-1), rounds.length]).toEqual([25, 40, 16])
    const proposers = [0, 1, 2, 3].map(
      (round) => roundStateJson(roundStateView(chain, { round }), times).simple.proposer.index,
    )
    expect(new Set(proposers).size).toBeGreaterThan(1)
  })

  it('dump_consensus_state adds validators with priorities, the proposal and the peers', async () => {
    const { get } = createCometTest(chain, {
      node: { ...IDLE_NODE, roundState: async () => roundState(chain) },
    })
    const { round_state, peers } = await get('dump_consensus_state')
    expect(round_state).toMatchObject({
      height: '3',
      round: 0,
      step: 4,
      validators: { validators: [{ voting_power: '40' }, {}, {}, {}] },
      proposal: { Type: 32, pol_round: -1 },
      locked_round: -1,
      locked_block_parts: null,
      valid_block_parts: null,
      last_commit: null,
      last_validators: {
        validators: [{ voting_power: '40' }, {}, {}, {}],
        proposer: { proposer_priority: expect.any(String) },
      },
    })
    expect(peers).toEqual([])
  })

  it('can cross a thread, its votes once for both forms', () => {
    const { simple, full } = structuredClone(roundState(chain))
    expect(simple.height_vote_set).toBe(full.votes)
  })

  it('is an error while consensus does not run', async () => {
    expect((await createCometTest(chain).get('consensus_state')).error.data).toMatch(/catching up/)
  })
})
