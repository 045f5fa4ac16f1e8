import { describe, expect, test } from 'vitest'
import type { EthereumHeader } from '../../../../src/chain/block/ethereumBlock.ts'
import type { Receipt } from '../../../../src/chain/block/receipt.ts'
import {
  buildTransaction,
  decodeTransaction,
  encodeTransaction,
  type SignedTransaction,
} from '../../../../src/chain/block/transaction.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { formatBlock, formatHeader } from '../../../../src/rpc/format/block.ts'
import { formatReceipt } from '../../../../src/rpc/format/receipt.ts'
import { formatMinedTransaction, formatPendingTransaction } from '../../../../src/rpc/format/transaction.ts'

const word = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
const hexWord = (byte: number): string => bytesToHex(word(byte))
const address = new Uint8Array(20).fill(0xaa)
const hexAddress = bytesToHex(address)

const FRONTIER: EthereumHeader = {
  parentHash: word(1),
  sha3Uncles: word(2),
  miner: address,
  stateRoot: word(3),
  transactionsRoot: word(4),
  receiptsRoot: word(5),
  logsBloom: new Uint8Array(256),
  difficulty: 131_072n,
  number: 10,
  gasLimit: 5_000n,
  gasUsed: 0n,
  timestamp: 100,
  extraData: new Uint8Array(0),
  mixHash: word(6),
  nonce: new Uint8Array(8),
  baseFeePerGas: undefined,
  withdrawalsRoot: undefined,
  blobGasUsed: undefined,
  excessBlobGas: undefined,
  parentBeaconBlockRoot: undefined,
  requestsHash: undefined,
}

/** A transaction of any type with a signature whose r and s begin with zeros. */
function signed(fields: Parameters<typeof buildTransaction>[0], v: bigint): SignedTransaction {
  const raw = encodeTransaction(buildTransaction({ to: address, ...fields }), { v, r: 0xabn, s: 0xcdn })
  return { transaction: decodeTransaction(raw), sender: address }
}

const place = { header: { number: 10, timestamp: 100, baseFeePerGas: 7n }, hash: word(9), index: 3 }

describe('headers and blocks', () => {
  test('only the fields of their fork', () => {
    const keys = Object.keys(formatHeader(FRONTIER, word(9)))
    expect(keys).not.toContain('baseFeePerGas')
    expect(keys).toHaveLength(16)
    const london = formatHeader({ ...FRONTIER, baseFeePerGas: 0n }, word(9))
    expect(london).toMatchObject({ baseFeePerGas: '0x0', difficulty: '0x20000', nonce: '0x0000000000000000' })
    expect(Object.keys(london)).toHaveLength(17)
  })

  test('withdrawals since Shanghai', () => {
    const parts = { hash: word(9), transactions: [], size: 600 }
    expect(formatBlock({ ...parts, header: FRONTIER }, true)).not.toHaveProperty('withdrawals')
    const shanghai = { ...FRONTIER, baseFeePerGas: 7n, withdrawalsRoot: word(8) }
    expect(formatBlock({ ...parts, header: shanghai }, true)).toMatchObject({
      withdrawalsRoot: hexWord(8),
      withdrawals: [],
      uncles: [],
      size: '0x258',
    })
  })
})

describe('transactions', () => {
  test('legacy without EIP-155 has no chain ID', () => {
    const json = formatMinedTransaction(signed({ type: 0, gasPrice: 9n }, 28n), place)
    expect(json).toMatchObject({
      type: '0x0',
      v: '0x1c',
      r: '0xab',
      s: '0xcd',
      gasPrice: '0x9',
      blockTimestamp: '0x64',
    })
    for (const key of ['chainId', 'yParity', 'accessList', 'maxFeePerGas']) expect(json).not.toHaveProperty(key)
  })

  test('type 1 has an access list and no EIP-1559 fees', () => {
    const accessList = [{ address, storageKeys: [word(1)] }]
    const json = formatMinedTransaction(signed({ type: 1, chainId: 7628n, gasPrice: 9n, accessList }, 1n), place)
    expect(json).toMatchObject({ v: '0x1', yParity: '0x1', chainId: '0x1dcc' })
    expect(json.accessList).toEqual([{ address: hexAddress, storageKeys: [hexWord(1)] }])
    expect(json).not.toHaveProperty('maxFeePerGas')
  })

  test('the price is the effective one once mined, the cap before', () => {
    const fees = { type: 2, chainId: 7628n, maxFeePerGas: 10n } as const
    const cheap = signed({ ...fees, maxPriorityFeePerGas: 1n }, 0n)
    const dear = signed({ ...fees, maxPriorityFeePerGas: 9n }, 0n)
    expect(formatMinedTransaction(cheap, place).gasPrice).toBe('0x8')
    expect(formatMinedTransaction(dear, place).gasPrice).toBe('0xa')
    expect(formatPendingTransaction(cheap.transaction, address)).toMatchObject({ gasPrice: '0xa', blockHash: null })
  })

  test('type 3 has blob fields, type 4 authorizations', () => {
    const blob = signed({ type: 3, chainId: 1n, maxFeePerBlobGas: 5n, blobVersionedHashes: [word(1)] }, 0n)
    expect(formatMinedTransaction(blob, place)).toMatchObject({
      maxFeePerBlobGas: '0x5',
      blobVersionedHashes: [hexWord(1)],
    })
    const authorization = { chainId: 0n, address, nonce: 1n, yParity: 1n, r: 2n, s: 3n }
    const delegating = signed({ type: 4, chainId: 1n, authorizationList: [authorization] }, 0n)
    expect(formatMinedTransaction(delegating, place).authorizationList).toEqual([
      { chainId: '0x0', address: hexAddress, nonce: '0x1', yParity: '0x1', r: '0x2', s: '0x3' },
    ])
  })
})

describe('receipts', () => {
  const receipt: Receipt = {
    type: 0,
    status: 0,
    gasUsed: 1n,
    cumulativeGasUsed: 2n,
    effectiveGasPrice: 3n,
    logs: [],
    logsBloom: new Uint8Array(256),
    contractAddress: undefined,
    blobGasUsed: undefined,
    blobGasPrice: undefined,
  }
  const transaction = signed({ type: 0 }, 27n)

  test('a failure', () => {
    const json = formatReceipt(receipt, transaction, { ...place, firstLogIndex: 0 })
    expect(json).toMatchObject({ status: '0x0', contractAddress: null, type: '0x0' })
    expect(json).not.toHaveProperty('root')
  })

  test('before Byzantium a state root instead of a status', () => {
    const json = formatReceipt({ ...receipt, status: word(7) }, transaction, { ...place, firstLogIndex: 0 })
    expect(json).toMatchObject({ root: hexWord(7) })
    expect(json).not.toHaveProperty('status')
  })

  test('with blobs', () => {
    const json = formatReceipt({ ...receipt, blobGasUsed: 131_072n, blobGasPrice: 1n }, transaction, {
      ...place,
      firstLogIndex: 0,
    })
    expect(json).toMatchObject({ blobGasUsed: '0x20000', blobGasPrice: '0x1' })
  })
})
