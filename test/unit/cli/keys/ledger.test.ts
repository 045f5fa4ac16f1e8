import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseTransaction, recoverTransactionAddress, serializeTransaction, type TransactionSerialized } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type LedgerTransport, ledgerKey, ledgerOn, signTypedData } from '../../../../src/cli/keys/ledger.ts'
import { keyOf, signBytesWith } from '../../../../src/modules/tx/signTransaction.ts'
import { createTransactionDecoder } from '../../../../src/modules/tx/transactionDecoder.ts'
import { toChecksumAddress } from '../../../../src/primitives/address.ts'
import { bytesToHex, concatBytes, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { decompressPublicKey } from '../../../../src/primitives/secp256k1.ts'
import { TEST_CHAIN, testAccount } from '../../../native/signTransaction.ts'
import { runInProcess } from '../../../support/cli/inProcess.ts'

const require = createRequire(import.meta.url)
const { openTransportReplayer, RecordStore } = require('@ledgerhq/hw-transport-mocker') as {
  openTransportReplayer(store: unknown): Promise<LedgerTransport>
  RecordStore: { fromString(exchanges: string): unknown }
}
const { default: Transport } = require('@ledgerhq/hw-transport') as {
  default: new () => LedgerTransport & { exchange(apdu: Buffer): Promise<Buffer> }
}

const replay = (exchanges: string): Promise<LedgerTransport> => openTransportReplayer(RecordStore.fromString(exchanges))

/** What a device of Ledger's own tests said (@ledgerhq/hw-app-eth, tests/Eth.unit.test.ts). */
const PATH = "m/44'/60'/0'/0'/0"
const ADDRESS_EXCHANGE = `
=> e002000015058000002c8000003c800000008000000000000000
<= 4104df00ad3869baad7ce54f4d560ba7f268d542df8f2679a5898d78a690c3db8f9833d2973671cb14b088e91bdf7c0ab00029a576473c0e12f84d252e630bb3809b28436241393833363265313939633431453138363444303932334146393634366433413634383435319000
`
const TYPED_DATA_EXCHANGE = `
=> e00c000055058000002c8000003c800000008000000000000000c24f499b8c957196651b13edd64aaccc3980009674b2aea0966c8a56ba81278e9d96be8a7cca396e711a3ba356bd9878df02a726d753ddb6cda3c507d888bc77
<= 1c47937d12e45197f2f4c47fe34e88944ee10c8e9ee1faf7aa4658f5aab8e0d2bb026c0d81290478fbc45d5bc1308c4b7119ab43d986805413e7f85da5d94597e79000
`

describe('recorded exchanges with a Ledger', () => {
  it('give its key', async () => {
    const key = await ledgerKey(ledgerOn(await replay(ADDRESS_EXCHANGE)), PATH)
    expect(toChecksumAddress(key.address)).toBe('0xCbA98362e199c41E1864D0923AF9646d3A648451')
  })

  it('give its signature over the two hashes of typed data', async () => {
    const hashes = {
      domain: hexToBytes('0xc24f499b8c957196651b13edd64aaccc3980009674b2aea0966c8a56ba81278e'),
      message: hexToBytes('0x9d96be8a7cca396e711a3ba356bd9878df02a726d753ddb6cda3c507d888bc77'),
    }
    const signature = await signTypedData(ledgerOn(await replay(TYPED_DATA_EXCHANGE)), PATH, hashes)
    expect(bytesToHex(signature)).toBe(
      '0x47937d12e45197f2f4c47fe34e88944ee10c8e9ee1faf7aa4658f5aab8e0d2bb026c0d81290478fbc45d5bc1308c4b7119ab43d986805413e7f85da5d94597e7',
    )
  })

  it.each([
    ['6985', 'rejected on the device'],
    ['5515', 'unlock it'],
    ['6511', 'open its Ethereum application'],
    ['6e00', 'open its Ethereum application'],
  ])('that end with %s say what to do', async (status, advice) => {
    const ledger = ledgerOn(await replay(`${ADDRESS_EXCHANGE.split('\n')[1]}\n<= ${status}\n`))
    await expect(ledgerKey(ledger, PATH)).rejects.toThrow(`the Ledger failed: ${advice}`)
  })
})

const account = testAccount(5)
const other = testAccount(6)
const OK = Buffer.from('9000', 'hex')

/**
 * The Ethereum application as its documentation has it (app-ethereum, doc/ethapp.adoc), with a key of its own: GET ETH PUBLIC ADDRESS, SIGN
 * ETH EIP 712 of two hashes, SIGN ETH TRANSACTION in one or several blocks.
 */
class Device extends Transport {
  readonly #privateKey: Uint8Array
  #transaction = Buffer.alloc(0)

  constructor(privateKey: Uint8Array) {
    super()
    this.#privateKey = privateKey
  }

  override async exchange(apdu: Buffer): Promise<Buffer> {
    const [, instruction, first, , length] = apdu
    const data = apdu.subarray(5, 5 + length!)
    const path = 1 + 4 * data[0]!
    if (instruction === 0x02) {
      const point = Buffer.concat([Buffer.of(4), decompressPublicKey(keyOf({ privateKey: this.#privateKey }).key)!])
      const text = Buffer.from(toChecksumAddress(keyOf({ privateKey: this.#privateKey }).address).slice(2))
      return Buffer.concat([Buffer.of(point.length), point, Buffer.of(text.length), text, OK])
    }
    if (instruction === 0x0c) {
      return Buffer.concat([Buffer.of(27), this.#sign(concatBytes(Uint8Array.of(0x19, 1), data.subarray(path))), OK])
    }
    if (instruction !== 0x04) return Buffer.from('6d00', 'hex')
    this.#transaction = first === 0 ? Buffer.from(data.subarray(path)) : Buffer.concat([this.#transaction, data])
    // Of a legacy transaction v is the last byte of what EIP-155 says, of others the parity; nothing here depends on it.
    const isLegacy = this.#transaction[0]! >= 0xc0
    const v = isLegacy ? (Number(TEST_CHAIN.evmChainId) * 2 + 35) & 0xff : 0
    return Buffer.concat([Buffer.of(v), this.#sign(this.#transaction), OK])
  }

  #sign(bytes: Uint8Array): Uint8Array {
    return signBytesWith({ privateKey: this.#privateKey }, bytes)
  }

  override async close(): Promise<void> {}
}

describe('a key on a Ledger', () => {
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'coind-ledger-'))
  })
  afterEach(() => rmSync(directory, { recursive: true }))

  /** @param device which one is connected */
  async function run(device: Uint8Array, ...args: string[]) {
    return runInProcess(directory, args, { openLedger: async () => new Device(device) })
  }
  async function printed(...args: string[]): Promise<string> {
    const { code, printed: text, errors } = await run(account.privateKey, ...args)
    if (code !== 0) throw new Error(errors.join(' '))
    return text
  }

  it('signs native transactions as typed data, which the node accepts', async () => {
    const added = JSON.parse(await printed('keys', 'add', 'cold', '--ledger', '-o', 'json'))
    expect(added).toMatchObject({ name: 'cold', type: 'ledger', address: account.bech32 })
    expect(await printed('keys', 'show', 'cold', '--device', '-a')).toBe(`${account.bech32}\n`)
    const terms = ['--offline', '--gas', '1000000', '--fee', '0.001COIN']
    const send = ['tx', 'bank', 'send', 'cold', other.bech32, '5acoin', '--generate-only', ...terms]
    writeFileSync(join(directory, 'tx.json'), await printed(...send))
    const sign = ['tx', 'sign', 'tx.json', '--from', 'cold', '--offline', '--chain-id', TEST_CHAIN.chainId, '-s', '3']
    writeFileSync(join(directory, 'signed.json'), await printed(...sign))
    const raw = Buffer.from(await printed('tx', 'encode', 'signed.json'), 'base64')
    expect(createTransactionDecoder(TEST_CHAIN).decodeNative(raw)).toMatchObject({
      sender: account.address,
      sequence: 3n,
    })
    expect(await run(other.privateKey, ...sign)).toMatchObject({
      code: 64,
      errors: [/not cold: connect the Ledger of that key$/],
    })
    writeFileSync(join(directory, 'late.json'), await printed(...send, '--timeout-height', '9'))
    expect(await run(account.privateKey, ...sign.with(2, 'late.json'))).toMatchObject({
      code: 64,
      errors: [/^a Ledger cannot sign this transaction/],
    })
    expect(await run(account.privateKey, 'keys', 'export', 'cold')).toMatchObject({
      code: 64,
      errors: [/a Ledger signs for it/],
    })
  })

  it.each(['legacy', 'eip2930', 'eip1559'] as const)('signs Ethereum transactions: %s', async (type) => {
    await printed('keys', 'add', 'cold', '--ledger')
    // Longer than what one message to the device holds.
    const content = {
      chainId: 76_287,
      nonce: 7,
      gas: 100_000n,
      to: `0x${'ab'.repeat(20)}`,
      value: 5n,
      data: `0x${'cd'.repeat(600)}`,
    } as const
    const fee = type === 'eip1559' ? { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n } : { gasPrice: 10n ** 10n }
    const unsigned = serializeTransaction({ ...content, ...fee, type } as never)
    const signed = (await printed('tx', 'sign-ethereum', unsigned, '--from', 'cold')).trim() as TransactionSerialized
    expect(parseTransaction(signed)).toMatchObject({ type, nonce: 7, chainId: 76_287, data: content.data })
    expect(await recoverTransactionAddress({ serializedTransaction: signed })).toBe(toChecksumAddress(account.address))
  })

  it('needs one that is connected', async () => {
    expect(await runInProcess(directory, ['keys', 'add', 'cold', '--ledger'])).toMatchObject({
      code: 64,
      errors: ['no Ledger is connected by USB'],
    })
  })
})
