import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import { ACCOUNTS, CHAIN_ID, COIN, freshAddress, KEYS, NATIVE_TOKEN, vaultBytecode } from '../devChain.ts'
import { mined, type RpcReceipt, rpc } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'

const CAST = new URL('../../../node_modules/.bin/cast', import.meta.url).pathname
const ERROR_SIGNATURE = 'InsufficientDeposit(address,uint256,uint256)'
const run = promisify(execFile)

let node: TestNode
let vault: string
const sender = ACCOUNTS[1]!

/** What `cast` prints. @throws Error with what it says on standard error: the npm package's exit code is always 0 */
async function cast(command: string, ...args: readonly string[]): Promise<string> {
  const environment = { PATH: process.env.PATH, HOME: node.homedir, NO_COLOR: '1' }
  const { stdout, stderr } = await run(CAST, [command, '--rpc-url', node.url, ...args], {
    env: environment,
    timeout: 60_000,
  })
  if (stderr.startsWith('Error')) throw new Error(stderr)
  return stdout.trim()
}

/** Sends with the key of the first ordinary account and waits for the receipt. */
async function send(...args: readonly string[]): Promise<RpcReceipt> {
  return JSON.parse(await cast('send', '--json', '--private-key', KEYS[1]!, ...args)) as RpcReceipt
}

/** Foundry's cast, against a devnet. */
export function castTests(devnet: () => TestNode): void {
  beforeAll(async () => {
    node = devnet()
    const creation = await send('--create', vaultBytecode(), 'constructor(uint256)', '7')
    expect(creation.status).toBe('0x1')
    vault = creation.contractAddress!
  })

  it('knows the chain', async () => {
    expect(await cast('chain-id')).toBe(String(CHAIN_ID))
    expect(await cast('client')).toMatch(/^coind\//)
    expect(Number(await cast('block-number'))).toBeGreaterThan(0)
    const hash = await cast('block', '1', '--field', 'hash')
    expect(await cast('block', hash, '--field', 'number')).toBe('1')
    expect(await cast('code', vault)).toMatch(/^0x[0-9a-f]{100,}$/)
  })

  it('sends coins', async () => {
    const to = freshAddress()
    const receipt = await send(to, '--value', '1ether')
    expect(receipt).toMatchObject({ status: '0x1', gasUsed: '0x5208' })
    expect(await cast('balance', to)).toBe(COIN.toString())
    expect(await cast('balance', to, '--block', (BigInt(receipt.blockNumber) - 1n).toString())).toBe('0')
  })

  it('sends legacy, access-list and delegating transactions', async () => {
    expect(await send('--legacy', freshAddress())).toMatchObject({ status: '0x1', type: '0x0' })
    expect(await send('--access-list', '--', vault, 'count()')).toMatchObject({ status: '0x1' })
    const receipt = await send(sender.address, 'count()', '--auth', vault)
    expect(receipt).toMatchObject({ status: '0x1', type: '0x4' })
    expect(await cast('code', sender.address)).toBe(`0xef0100${vault.slice(2).toLowerCase()}`)
    expect(await send(sender.address, '--auth', `0x${'00'.repeat(20)}`)).toMatchObject({ status: '0x1' })
    expect(await cast('code', sender.address)).toBe('0x')
  })

  it('calls, writes, and reads logs', async () => {
    const first = await cast('call', vault, 'count()(uint256)')
    const estimate = await cast(
      'estimate',
      vault,
      'deposit(string)',
      'hello',
      '--value',
      '12',
      '--from',
      sender.address,
    )
    const receipt = await send(vault, 'deposit(string)', 'hello', '--value', '12')
    expect(BigInt(receipt.gasUsed)).toBeLessThanOrEqual(BigInt(estimate))
    expect(await cast('call', vault, 'count()(uint256)')).toBe(String(Number(first) + 1))
    const from = String(BigInt(receipt.blockNumber))
    const event = 'Deposited(address indexed,uint256 indexed,uint256,string)'
    const range = ['--json', '--from-block', from, '--address', vault]
    const logs = JSON.parse(await cast('logs', ...range, event, sender.address)) as RpcReceipt['logs']
    expect(logs).toHaveLength(1)
    expect(logs[0]).toMatchObject({ blockHash: receipt.blockHash, data: receipt.logs[0]!.data })
    expect(JSON.parse(await cast('logs', ...range, event, freshAddress()))).toEqual([])
    expect(BigInt(await cast('storage', vault, '1'))).toBe(BigInt(first) + 1n)
  })

  it('decodes a custom error', async () => {
    const text = await cast('call', vault, 'withdraw(uint256)', '1000', '--from', sender.address).then(
      () => expect.fail('it went through'),
      (error: Error) => error.message,
    )
    expect(text).toContain('execution reverted')
    const data = /data: "(0x[0-9a-f]+)"/.exec(text)?.[1]
    expect(data).toBeDefined()
    const { stdout } = await run(CAST, ['decode-error', data!, '--sig', ERROR_SIGNATURE])
    const held = await cast('call', vault, 'deposits(address)(uint256)', sender.address)
    expect(stdout.trim().split('\n')).toEqual([sender.address, held, '1000'])
    await expect(send(vault, 'refuse()')).rejects.toThrow('execution reverted: refused')
  })

  it('shows the native token as an ERC-20 contract', async () => {
    expect(await cast('call', NATIVE_TOKEN, 'symbol()(string)')).toBe('"COIN"')
    const to = freshAddress()
    const receipt = await send(NATIVE_TOKEN, 'transfer(address,uint256)', to, '77')
    expect(receipt.logs).toHaveLength(1)
    expect(await cast('balance', to)).toBe('77')
  })

  it('replaces a waiting transaction and fills the gap before it', async () => {
    const nonce = Number(await cast('nonce', sender.address, '--block', 'pending'))
    const [former, latter, filler] = [freshAddress(), freshAddress(), freshAddress()]
    const sendAsync = (to: string, at: number, gasPrice: string, tip: string): Promise<string> => {
      const fees = ['--gas-price', gasPrice, '--priority-gas-price', tip, '--gas-limit', '21000', '--value', '1']
      return cast('send', '--async', '--private-key', KEYS[1]!, '--nonce', String(at), ...fees, to)
    }
    await sendAsync(former, nonce + 1, '10gwei', '1gwei')
    await expect(sendAsync(latter, nonce + 1, '10.9gwei', '1.09gwei')).rejects.toThrow(
      'replacement transaction underpriced',
    )
    const replacement = await sendAsync(latter, nonce + 1, '11gwei', '1.1gwei')
    expect(await rpc(node.url, 'txpool_status')).toEqual({ pending: '0x0', queued: '0x1' })
    await mined(node.url, await sendAsync(filler, nonce, '10gwei', '1gwei'))
    expect((await mined(node.url, replacement)).status).toBe('0x1')
    expect(await Promise.all([former, latter, filler].map((address) => cast('balance', address)))).toEqual([
      '0',
      '1',
      '1',
    ])
  })

  it('estimates fees, lists storage keys and proves accounts', async () => {
    expect(Number(await cast('gas-price'))).toBeGreaterThanOrEqual(1e9)
    expect(Number(await cast('base-fee'))).toBeGreaterThanOrEqual(1e9)
    expect(await cast('access-list', vault, 'count()')).toContain(`0x${'00'.repeat(31)}01`)
    const proof = JSON.parse(await cast('proof', vault, '1')) as { accountProof: string[]; storageProof: unknown[] }
    expect(proof.accountProof.length).toBeGreaterThan(0)
    expect(proof.storageProof).toHaveLength(1)
  })
}
