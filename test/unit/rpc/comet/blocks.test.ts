import { describe, expect, it } from 'vitest'
import { encodeBlock } from '../../../../src/chain/comet/block.ts'
import { createCometTest, viewsOn } from '../../../support/rpc/comet/cometNode.ts'
import { createSignedChain } from '../../../support/rpc/comet/signedChain.ts'

const bigTx = new Uint8Array(70_000).fill(7)
const chain = createSignedChain([{}, { txs: [Uint8Array.of(1, 2, 3), bigTx] }, {}])
const { get, post } = createCometTest(chain)

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase()

describe('block and block_by_hash', () => {
  const hash = chain.blockId(2)!.hash

  it('a block with its transactions in base64', async () => {
    const { block_id, block } = await get('block?height=2')
    expect(block_id).toEqual({
      hash: hex(hash),
      parts: { total: 2, hash: hex(chain.blockId(2)!.partSetHeader.hash) },
    })
    expect(block.data.txs).toEqual(['AQID', Buffer.from(bigTx).toString('base64')])
    expect(block.evidence).toEqual({ evidence: [] })
    expect(block.last_commit.signatures).toHaveLength(4)
  })

  it('the first block has no last commit', async () => {
    const { block } = await get('block?height=1')
    expect(block.last_commit).toEqual({
      height: '0',
      round: 0,
      block_id: { hash: '', parts: { total: 0, hash: '' } },
      signatures: [],
    })
    expect(block.header.last_block_id).toEqual(block.last_commit.block_id)
  })

  it.each([
    ['0x and hex', `block_by_hash?hash=0x${hex(hash)}`],
    ['lower case', `block_by_hash?hash=0x${hex(hash).toLowerCase()}`],
    ['quoted hex', `block_by_hash?hash="${hex(hash)}"`],
    ['hex alone', `block_by_hash?hash=${hex(hash)}`],
  ])('by hash, as %s', async (_, path) => {
    expect((await get(path)).block.header.height).toBe('2')
    expect((await get(path.replace('block_', 'header_'))).header.height).toBe('2')
  })

  it.each([
    ['block_by_hash', Buffer.from(hash).toString('base64')],
    ['block_by_hash', hex(hash)],
    ['header_by_hash', hex(hash)],
  ])('by hash in JSON: %s %s', async (method, text) => {
    const { result } = JSON.parse((await post({ id: 1, method, params: { hash: text } })).json)
    expect((result.block ?? result).header.height).toBe('2')
  })

  it('the Ethereum hash is not that of the header', async () => {
    expect((await get(`block_by_hash?hash=0x${'ee'.repeat(32)}`)).block).toBeNull()
  })
})

describe('blockchain', () => {
  it('newest first, with sizes', async () => {
    const { last_height, block_metas } = await get('blockchain')
    expect(last_height).toBe('3')
    expect(block_metas.map(({ header, num_txs }: Meta) => [header.height, num_txs])).toEqual([
      ['3', '0'],
      ['2', '2'],
      ['1', '0'],
    ])
    const sizes = [3, 2, 1].map((height) => String(encodeBlock(chain.consensusBlock(height)!).length))
    expect(block_metas.map(({ block_size }: Meta) => block_size)).toEqual(sizes)
  })

  it.each([
    ['', 25, 6],
    ['?minHeight=3&maxHeight=5', 5, 3],
    ['?minHeight=10', 25, 10],
    ['?maxHeight=10', 10, 1],
    ['?minHeight=1&maxHeight=99', 25, 6],
  ])('at most 20 blocks: %s', async (query, high, low) => {
    const long = createCometTest(createSignedChain(Array(25).fill({})))
    const { block_metas } = await long.get(`blockchain${query}`)
    expect([block_metas[0].header.height, block_metas.at(-1).header.height]).toEqual([String(high), String(low)])
    expect(block_metas).toHaveLength(high - low + 1)
  })
})

describe('before the first block', () => {
  const empty = createCometTest(createSignedChain([]))
  it.each([
    ['block', { block_id: { hash: '', parts: { total: 0, hash: '' } }, block: null }],
    ['header', { header: null }],
    ['commit', null],
    [
      'block?height=1',
      {
        error: {
          code: -32603,
          message: 'Internal error',
          data: 'height 1 must be less than or equal to the current blockchain height 0',
        },
      },
    ],
  ])('%s', async (path, expected) => {
    expect(await empty.get(path)).toEqual(expected)
  })

  it('the validators of the first block are known', async () => {
    expect(await empty.get('validators')).toMatchObject({ block_height: '1', total: '4' })
  })
})

describe('where BLOCK_HISTORY has dropped transactions', () => {
  const pruned = createSignedChain(Array(6).fill({}))
  pruned.oldestBlock = 4
  const { get: ask } = createCometTest(pruned)
  const lost = { error: { data: 'height 3 is not available, lowest height is 4' } }

  it('blocks are refused with the lowest height', async () => {
    expect(await ask('block?height=3')).toMatchObject(lost)
    expect((await ask('block?height=4')).block.header.height).toBe('4')
    expect((await ask(`block_by_hash?hash=0x${hex(pruned.blockId(3)!.hash)}`)).block).toBeNull()
    expect((await ask('blockchain?minHeight=1')).block_metas).toHaveLength(3)
  })

  it('headers, commits and validators stay', async () => {
    expect((await ask('header?height=3')).header.height).toBe('3')
    expect((await ask('commit?height=3')).signed_header.commit.height).toBe('3')
    expect(await ask('validators?height=3')).toMatchObject({ block_height: '3' })
    expect((await ask('status')).sync_info).toMatchObject({ earliest_block_height: '4', latest_block_height: '6' })
  })

  it('a header that is gone too is refused', async () => {
    const without = createCometTest({
      ...pruned,
      base: 4,
      consensusBlock: (height) => (height < 4 ? undefined : pruned.consensusBlock(height)),
      nextLightBlock: (height) => Math.max(height, 4),
    })
    expect(await without.get('header?height=3')).toMatchObject(lost)
    expect(await without.get('commit?height=3')).toMatchObject(lost)
    expect(await without.get('validators?height=3')).toMatchObject(lost)
    expect(await without.get('consensus_params?height=3')).toMatchObject(lost)
  })

  it('a light block that stays for ever is there, and the next one is named for other heights', async () => {
    const kept = createCometTest({
      ...pruned,
      base: 4,
      consensusBlock: (height) => (height < 4 ? undefined : pruned.consensusBlock(height)),
      seenCommit: (height) => (height < 4 ? undefined : pruned.seenCommit(height)),
      validatorsAt: (height) => (height === 2 ? undefined : pruned.validatorsAt(height)),
      nextLightBlock: (height) => (height <= 2 ? 2 : Math.max(height, 4)),
    })
    expect(await kept.get('commit?height=2')).toEqual(await ask('commit?height=2'))
    const { validators, ...counts } = await ask('validators?height=2')
    expect(await kept.get('validators?height=2')).toEqual({
      ...counts,
      // No hash covers the priorities.
      validators: validators.map((validator: object) => ({ ...validator, proposer_priority: '0' })),
    })
    const data = 'height 1 is not available, lowest height is 4, next light block is 2'
    for (const path of ['commit?height=1', 'validators?height=1']) {
      expect(await kept.get(path)).toMatchObject({ error: { data } })
    }
    expect(await kept.get('commit?height=3')).toMatchObject(lost)
  })
})

interface Meta {
  readonly header: { readonly height: string }
  readonly num_txs: string
  readonly block_size: string
}

it('a socket thread decodes no block but the newest', async () => {
  const long = createSignedChain(Array(12).fill({}))
  const decoded: number[] = []
  const consensusBlock: typeof long.consensusBlock = (height) => {
    decoded.push(height)
    return long.consensusBlock(height)
  }
  const viewed: string[] = []
  const served = viewsOn(long, { error: () => undefined })
  const { get: ask } = createCometTest(long, {
    withChain: (read) => read({ ...long, consensusBlock }),
    views: {
      call: (queue, method, params, scope) => {
        viewed.push(method)
        return served.call(queue, method, params, scope)
      },
    },
  })
  for (const method of ['block', 'header', 'commit']) expect(await ask(`${method}?height=3`)).toBeTruthy()
  for (const method of ['block_by_hash', 'header_by_hash']) {
    expect(await ask(`${method}?hash=0x${hex(long.blockId(3)!.hash)}`)).toBeTruthy()
  }
  expect((await ask('blockchain?minHeight=2&maxHeight=4')).block_metas).toHaveLength(3)
  expect([decoded, viewed.length]).toEqual([[], 6])
  for (const method of ['block', 'header', 'commit']) expect(await ask(`${method}?height=11`)).toBeTruthy()
  expect([new Set(decoded), viewed.length]).toEqual([new Set([11]), 6])
})
