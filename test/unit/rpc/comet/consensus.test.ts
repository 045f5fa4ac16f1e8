import { describe, expect, it } from 'vitest'
import { createCometTest } from '../../../support/rpc/comet/cometNode.ts'
import { createSignedChain } from '../../../support/rpc/comet/signedChain.ts'

const chain = createSignedChain([{}, {}, {}])
const { get } = createCometTest(chain)

interface Shown {
  readonly voting_power: string
  readonly proposer_priority: string
}

describe('validators', () => {
  it('in the order of the set, with their priorities at that height', async () => {
    const { validators, count, total } = await get('validators?height=1')
    expect([count, total]).toEqual(['4', '4'])
    expect(validators.map((validator: Shown) => [validator.voting_power, validator.proposer_priority])).toEqual([
      ['40', '-60'],
      ['30', '30'],
      ['20', '20'],
      ['10', '10'],
    ])
  })

  it('by default those of the block that is being decided, also of the one after it is known', async () => {
    expect((await get('validators')).block_height).toBe('4')
    const behind = createCometTest(chain, { isCatchingUp: () => true })
    expect((await behind.get('validators')).block_height).toBe('3')
    expect((await behind.get('validators?height=4')).error.data).toBe(
      'height 4 must be less than or equal to the current blockchain height 3',
    )
    expect((await behind.get('consensus_params')).block_height).toBe('3')
  })

  it.each([
    ['per_page=2', ['40', '30']],
    ['page=2&per_page=2', ['20', '10']],
    ['page="2"&per_page=3', ['10']],
    ['per_page=0', ['40', '30', '20', '10']],
    ['per_page=-1', ['40', '30', '20', '10']],
    ['per_page=1000', ['40', '30', '20', '10']],
  ])('%s', async (query, powers) => {
    const { validators, count, total } = await get(`validators?height=2&${query}`)
    expect(validators.map((validator: Shown) => validator.voting_power)).toEqual(powers)
    expect([count, total]).toEqual([String(powers.length), '4'])
  })

  it('a set whose priorities are not known has none, and one that is not kept is an error', async () => {
    const unranked: typeof chain = {
      ...chain,
      validatorsAt: (height) => (height === 2 ? undefined : chain.validatorsAt(height)),
    }
    const { validators } = await createCometTest(unranked).get('validators?height=2')
    expect(validators.map(({ proposer_priority }: Shown) => proposer_priority)).toEqual(['0', '0', '0', '0'])
    const without = createCometTest({
      ...unranked,
      validatorSetAt: (height) => (height === 2 ? undefined : chain.validatorSetAt(height)),
    })
    expect((await without.get('validators?height=2')).error.data).toBe(
      'could not find validator set for height #2: the oldest block is 0',
    )
  })
})

describe('consensus_params', () => {
  it('the parameters of the genesis', async () => {
    expect(await get('consensus_params?height=2')).toEqual({
      block_height: '2',
      consensus_params: {
        block: { max_bytes: '2000000', max_gas: '30000000' },
        evidence: { max_age_num_blocks: '1000', max_age_duration: '400000000000', max_bytes: '100000' },
        validator: { pub_key_types: ['ed25519'] },
        version: { app: '0' },
        abci: { vote_extensions_enable_height: '0' },
      },
    })
  })

  it('of a block that is not kept are an error', async () => {
    const without = createCometTest({ ...chain, header: () => undefined })
    expect((await without.get('consensus_params?height=2')).error.data).toBe(
      'could not find consensus params for height #2',
    )
  })
})
