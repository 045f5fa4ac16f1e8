import { describe, expect, test } from 'vitest'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { readStorageSlot } from '../../../../src/rpc/eth/accountState.ts'
import { readBlockCount, readPercentiles } from '../../../../src/rpc/eth/feeHistory.ts'
import { InvalidArgument, RpcError } from '../../../../src/rpc/jsonrpc/errors.ts'
import type { ParamReader } from '../../../../src/rpc/jsonrpc/method.ts'
import { readBlockNumberOrHash, readBlockNumberOrTag } from '../../../../src/rpc/params/blockSelector.ts'
import {
  callData,
  readBlockOverrides,
  readCallRequest,
  readStateOverrides,
} from '../../../../src/rpc/params/callRequest.ts'
import { readLogFilter } from '../../../../src/rpc/params/logFilter.ts'
import {
  readAddress,
  readBool,
  readData,
  readHash,
  readIndex,
  readUint64,
  readUint256,
} from '../../../../src/rpc/params/values.ts'

const HASH = `0x${'ab'.repeat(32)}`
const ADDRESS = `0x${'Cd'.repeat(20)}`

function failure(read: ParamReader<unknown>, json: unknown): string {
  try {
    read(json)
  } catch (error) {
    if (error instanceof InvalidArgument) return error.message
    if (error instanceof RpcError) return `${error.code} ${error.message}`
    throw error
  }
  throw new Error(`${JSON.stringify(json)} was accepted`)
}

describe('values', () => {
  test.each<[ParamReader<unknown>, unknown, unknown]>([
    [readUint64, '0x0', 0n],
    [readUint64, '0xffffffffffffffff', 2n ** 64n - 1n],
    [readUint64, '', 0n],
    [readUint256, `0x${'f'.repeat(64)}`, 2n ** 256n - 1n],
    [readIndex, '0x1A', 26],
    [readData, '0x', new Uint8Array(0)],
    [readData, '0X0a', Uint8Array.of(10)],
    [readAddress, ADDRESS, hexToBytes(ADDRESS)],
    [readHash, HASH, hexToBytes(HASH)],
    [readBool, false, false],
    [readBlockNumberOrTag, 'safe', 'safe'],
    [readBlockNumberOrTag, '0x10', 16],
    [readBlockNumberOrHash, 'finalized', { kind: 'number', number: 'finalized' }],
    [readBlockNumberOrHash, HASH, { kind: 'hash', hash: hexToBytes(HASH), requireCanonical: false }],
    [readBlockNumberOrHash, { blockNumber: '0x1' }, { kind: 'number', number: 1 }],
    [readBlockNumberOrHash, { blockNumber: 'latest', blockHash: null }, { kind: 'number', number: 'latest' }],
    [
      readBlockNumberOrHash,
      { blockHash: HASH, requireCanonical: true, extra: 1 },
      { kind: 'hash', hash: hexToBytes(HASH), requireCanonical: true },
    ],
    [readBlockCount, '0xa', 10],
    [readBlockCount, '10', 10],
    [readBlockCount, 10, 10],
    [readPercentiles, [20.5, 50], [20.5, 50]],
  ])('%# %j', (read, json, expected) => {
    expect(read(json)).toEqual(expected)
  })

  test.each<[ParamReader<unknown>, unknown, string]>([
    [readUint64, 5, 'json: cannot unmarshal non-string into Go value of type hexutil.Uint64'],
    [readUint64, '5', 'json: cannot unmarshal hex string without 0x prefix into Go value of type hexutil.Uint64'],
    [readUint64, '0x', 'json: cannot unmarshal hex string "0x" into Go value of type hexutil.Uint64'],
    [
      readUint64,
      '0x00',
      'json: cannot unmarshal hex number with leading zero digits into Go value of type hexutil.Uint64',
    ],
    [
      readUint64,
      '0x10000000000000000',
      'json: cannot unmarshal hex number > 64 bits into Go value of type hexutil.Uint64',
    ],
    [
      readUint256,
      `0x1${'0'.repeat(64)}`,
      'json: cannot unmarshal hex number > 256 bits into Go value of type hexutil.Big',
    ],
    [readUint64, '0xg', 'json: cannot unmarshal invalid hex string into Go value of type hexutil.Uint64'],
    [readData, '0x1', 'json: cannot unmarshal hex string of odd length into Go value of type hexutil.Bytes'],
    [readData, 'ab', 'json: cannot unmarshal hex string without 0x prefix into Go value of type hexutil.Bytes'],
    [readData, '0xzz', 'json: cannot unmarshal invalid hex string into Go value of type hexutil.Bytes'],
    [readAddress, '0x12', 'hex string has length 2, want 40 for common.Address'],
    [readHash, '0x12', 'hex string has length 2, want 64 for common.Hash'],
    [readBool, 'true', 'json: cannot unmarshal string into Go value of type bool'],
    [readBlockNumberOrTag, '2', 'hex string without 0x prefix'],
    [readBlockNumberOrTag, 2, 'hex string without 0x prefix'],
    [readBlockNumberOrTag, '', 'empty hex string'],
    [readBlockNumberOrTag, '0x8000000000000000', 'block number larger than int64'],
    [readBlockNumberOrTag, '0x01', 'hex number with leading zero digits'],
    [readBlockNumberOrHash, 2, 'json: cannot unmarshal number into Go value of type string'],
    [readBlockNumberOrHash, `0x${'zz'.repeat(32)}`, 'invalid hex string'],
    [
      readBlockNumberOrHash,
      { blockNumber: '0x1', blockHash: HASH },
      'cannot specify both BlockHash and BlockNumber, choose one or the other',
    ],
    [readBlockNumberOrHash, {}, 'must specify either BlockHash or BlockNumber'],
    [readBlockCount, 'x', 'invalid hex or decimal integer "x"'],
    [readPercentiles, ['1'], 'json: cannot unmarshal string into Go value of type float64'],
    [
      readStorageSlot,
      `0x${'0'.repeat(65)}`,
      `-32602 storage key too long (want at most 32 bytes): "0x${'0'.repeat(65)}"`,
    ],
    [readStorageSlot, '0xasdf', '-32602 invalid hex in storage key: "0xasdf"'],
  ])('%# %j is refused', (read, json, expected) => {
    expect(failure(read, json)).toBe(expected)
  })
})

test.each([
  ['0x', 0n, false],
  ['1', 1n, false],
  ['0x00', 0n, false],
  ['0xABC', 0xabcn, false],
  [HASH, BigInt(HASH), true],
  [HASH.slice(2), BigInt(HASH), true],
])('storage slot %s', (text, slot, isWholeWord) => {
  const read = readStorageSlot(text)
  expect(BigInt(bytesToHex(read.slot))).toBe(slot)
  expect(read.slot).toHaveLength(32)
  expect(read.isWholeWord).toBe(isWholeWord)
})

describe('call request', () => {
  test('null and unknown members are ignored', () => {
    const request = readCallRequest({ to: ADDRESS, from: null, gas: null, data: '0x01', type: '0x2', custom: [] })
    expect(request).toEqual({ to: hexToBytes(ADDRESS), data: Uint8Array.of(1) })
  })

  test('input wins over data', () => {
    expect(callData(readCallRequest({ data: '0x01', input: '0x02' }))).toEqual(Uint8Array.of(2))
    expect(callData(readCallRequest({ data: '0x01', input: null }))).toEqual(Uint8Array.of(1))
    expect(callData(readCallRequest({}))).toHaveLength(0)
  })

  test.each<[unknown, string]>([
    ['0x', 'json: cannot unmarshal string into Go value of type ethapi.TransactionArgs'],
    [{ gas: 5 }, 'json: cannot unmarshal non-string into Go struct field TransactionArgs.gas of type hexutil.Uint64'],
    [
      { value: '0x01' },
      'json: cannot unmarshal hex number with leading zero digits into Go struct field TransactionArgs.value of type hexutil.Big',
    ],
    [{ accessList: [{ address: ADDRESS }] }, "missing required field 'storageKeys' for AccessTuple"],
    [{ authorizationList: [{}] }, "missing required field 'chainId' for SetCodeAuthorization"],
  ])('%j is refused', (json, expected) => {
    expect(failure(readCallRequest, json)).toBe(expected)
  })
})

describe('log filter', () => {
  test('addresses and topics in all forms', () => {
    const topic = hexToBytes(HASH)
    expect(
      readLogFilter({ address: ADDRESS, topics: [null, HASH, [HASH, HASH], [HASH, null], []].slice(0, 4) }),
    ).toEqual({
      blockHash: undefined,
      fromBlock: undefined,
      toBlock: undefined,
      addresses: [hexToBytes(ADDRESS)],
      topics: [[], [topic], [topic, topic], []],
    })
  })

  test.each<[unknown, string]>([
    [
      { blockHash: HASH, toBlock: '0x1' },
      'cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other',
    ],
    [{ address: 5 }, 'invalid addresses in query'],
    [{ address: [5] }, 'non-string address at index 0'],
    [{ address: '0x12' }, 'invalid address: hex has invalid length 1 after decoding; expected 20 for address'],
    [{ address: ['0x1'] }, 'invalid address at index 0: hex string of odd length'],
    [{ topics: 'x' }, 'invalid topic(s)'],
    [{ topics: [5] }, 'invalid topic(s)'],
    [{ topics: ['0x12'] }, 'hex has invalid length 1 after decoding; expected 32 for topic'],
    [{ topics: [null, null, null, null, null] }, '-32602 exceed max topics'],
    [{ topics: [Array(1001).fill(HASH)] }, '-32602 exceed max addresses or topics per search position'],
    [{ address: Array(1001).fill(ADDRESS) }, '-32602 exceed max addresses or topics per search position'],
  ])('%# is refused', (json, expected) => {
    expect(failure(readLogFilter, json)).toBe(expected)
  })
})

test('overrides', () => {
  expect(readStateOverrides({ [ADDRESS]: { nonce: '0x1', state: { [HASH]: HASH }, code: null } })).toEqual([
    [hexToBytes(ADDRESS), { nonce: 1n, state: [[hexToBytes(HASH), hexToBytes(HASH)]] }],
  ])
  expect(readBlockOverrides({ number: '0x5', time: '0x6', baseFeePerGas: '0x0' })).toEqual({
    number: 5,
    time: 6,
    baseFeePerGas: 0n,
  })
  expect(failure(readBlockOverrides, { number: '0x20000000000000' })).toBe('hex number > 53 bits')
})
