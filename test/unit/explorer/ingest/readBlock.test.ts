import { expect, it } from 'vitest'
import type { FetchedBlock } from '../../../../explorer/ingest/fetchBlocks.ts'
import { readBlock } from '../../../../explorer/ingest/readBlock.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'

const NAMED = hexToBytes(`0x${'a1'.repeat(20)}`)
const ZEROS = `0x${'00'.repeat(20)}` as const

/** A block with one native transaction, which has one event with these values. */
function blockWith(values: readonly string[]): FetchedBlock {
  const attributes = values.map((value, index) => ({ key: `text${index}`, value, index: true }))
  const outcome = {
    code: 0,
    codespace: '',
    log: '',
    gas_used: '1',
    gas_wanted: '1',
    events: [{ type: 'note', attributes }],
  }
  return {
    height: 1,
    ethereum: {
      ...{ number: '0x1', hash: `0x${'11'.repeat(32)}`, parentHash: `0x${'22'.repeat(32)}`, miner: ZEROS },
      ...{ gasUsed: '0x0', gasLimit: '0x1', baseFeePerGas: '0x1', size: '0x1', transactions: [] },
    },
    consensus: {
      block_id: { hash: '00'.repeat(32) },
      block: {
        header: { height: '1', time: '2026-01-01T00:00:00Z', proposer_address: '00'.repeat(20) },
        data: { txs: [Buffer.from([0x0a]).toString('base64')] },
      },
    },
    results: { txs_results: [outcome], finalize_block_events: [] },
    receipts: [],
    traces: [],
    decoded: [{ body: { messages: [], memo: '' }, auth_info: { fee: { amount: [] }, signer_infos: [] } }],
    proposals: new Map(),
  } as unknown as FetchedBlock
}

it('takes texts of events for accounts only where they are addresses with the right checksum', () => {
  const right = toBech32(NAMED)
  const wrong = `${right.slice(0, -1)}${right.endsWith('q') ? 'p' : 'q'}`
  const { rows } = readBlock(blockWith([wrong, right, 'coin1', 'a text']))
  expect(rows.of('account_tx').map(({ address }) => Buffer.from(address).toString('hex'))).toEqual(['a1'.repeat(20)])
})
