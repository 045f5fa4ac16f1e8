import { Contract, EtherscanProvider, Interface, Network, Transaction } from 'ethers'
import {
  type Abi,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  getAddress,
  type Hex,
  http,
  numberToHex,
  parseEther,
} from 'viem'
import { describe, expect, it } from 'vitest'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { ACCOUNTS, CHAIN_ID, freshAddress, GWEI, viemChain } from '../devChain.ts'
import { mined, rpc } from '../rpc.ts'
import type { FilledEvm } from './evm.ts'

/* The API of Etherscan, asked by ethers' own client and as its documents say, over the chain of index.test.ts. */

/** The provider of ethers for this explorer, as docs/explorer.md shows it. It takes the chains of Etherscan alone, so one of those is named. */
class ExplorerProvider extends EtherscanProvider {
  readonly #url: string
  readonly #network: Network

  constructor(url: string, chainId: number) {
    super('sepolia')
    this.#url = `${url}v2/api?chainid=${chainId}`
    this.#network = new Network('coin', chainId)
  }

  override async getNetwork(): Promise<Network> {
    return this.#network
  }

  override getUrl(module: string, params: Record<string, string>): string {
    return `${this.#url}&${new URLSearchParams({ module, ...params })}`
  }

  override getPostUrl(): string {
    return this.#url
  }

  override getPostData(module: string, params: Record<string, string>): Record<string, string> {
    return { module, ...params }
  }
}

interface Filled {
  /** of the explorer */
  readonly explorerUrl: string
  readonly url: string
  readonly evm: FilledEvm
  /** ERC-20, ERC-721, ERC-1155 and WETH9-like */
  readonly tokens: readonly Hex[]
  /** successful and failed ones of `sender`, the third one failed */
  readonly hashes: readonly Hex[]
  readonly sender: Hex
}

interface Answer {
  readonly status: string
  readonly message: string
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
  readonly result: any
}

/** Declares the tests. */
export function testEtherscan(chain: () => Filled): void {
  const ask = async (
    module: string,
    action: string,
    params: Readonly<Record<string, string>> = {},
    form?: Readonly<Record<string, string>>,
  ): Promise<Answer> => {
    const query = new URLSearchParams({ module, action, ...params })
    const response = await fetch(`${chain().explorerUrl}api?${query}`, {
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    })
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
    return (await response.json()) as Answer
  }
  const list = async (module: string, action: string, params: Readonly<Record<string, string>>) => {
    const answer = await ask(module, action, params)
    expect(answer).toMatchObject({ status: '1', message: 'OK' })
    return answer.result as readonly Record<string, string>[]
  }

  describe('by the API of Etherscan', () => {
    it('serves ethers’ EtherscanProvider, with transactions and calls', async () => {
      const { explorerUrl, url, hashes, sender, tokens } = chain()
      const provider = new ExplorerProvider(explorerUrl, CHAIN_ID)
      const node = createPublicClient({ transport: http(url), chain: viemChain(url) })
      expect(await provider.getBlockNumber()).toBeGreaterThan(0)
      expect((await provider.getNetwork()).chainId).toBe(BigInt(CHAIN_ID))
      expect(await provider.getTransactionCount(sender)).toBe(await node.getTransactionCount({ address: sender }))
      expect((await provider.getTransaction(hashes[0]!))?.from).toBe(sender)
      const receipt = await provider.getTransactionReceipt(hashes[2]!)
      expect([receipt?.status, receipt?.from]).toEqual([0, sender])
      expect((await provider.getBlock(receipt!.blockNumber))?.hash).toBe(receipt!.blockHash)
      expect(await provider.getCode(tokens[0]!)).toBe(await node.getCode({ address: tokens[0]! }))
      expect(BigInt(await provider.getStorage(tokens[0]!, 2))).toBe(
        BigInt((await node.getStorageAt({ address: tokens[0]!, slot: '0x2' })) ?? 0),
      )
      const token = new Contract(
        tokens[0]!,
        new Interface(['function balanceOf(address) view returns (uint256)']),
        provider,
      )
      expect(await token.getFunction('balanceOf')(sender)).toBe(400n)
      const refusal = provider.call({ to: tokens[0]!, data: '0x12345678' })
      await expect(refusal).rejects.toMatchObject({ code: 'CALL_EXCEPTION' })
      expect(await provider.estimateGas({ from: sender, to: freshAddress(), value: 1n })).toBe(21_000n)
      expect((await provider.getFeeData()).gasPrice).toBeGreaterThan(0n)
      // It was verified before, so its ABI is known.
      const contract = await provider.getContract(chain().evm.child)
      expect(contract?.interface.getFunction('run')?.selector).toMatch(/^0x/)

      const own = ACCOUNTS[8]!
      const writer = createWalletClient({ chain: viemChain(url), transport: http(url), account: own })
      const raw = await writer.signTransaction({
        ...{ to: freshAddress(), value: 5n, gas: 21_000n, nonce: 0, type: 'eip1559' },
        ...{ maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI },
      })
      const sent = await provider.broadcastTransaction(raw)
      expect(sent.hash).toBe(Transaction.from(raw).hash)
      expect((await mined(url, sent.hash as Hex)).status).toBe('0x1')
      while ((await ask('transaction', 'gettxreceiptstatus', { txhash: sent.hash })).result.status === '')
        await new Promise((resolve) => setTimeout(resolve, 50))
    })

    it('lists transactions as receipts and blocks of the node say, in both orders, page by page', async () => {
      const { url, hashes, sender } = chain()
      const all = await list('account', 'txlist', { address: sender, sort: 'desc' })
      expect(all.map(({ hash }) => hash)).toEqual(expect.arrayContaining([...hashes]))
      for (const row of all) {
        const receipt = await rpc<Record<string, string>>(url, 'eth_getTransactionReceipt', row['hash'])
        expect(row).toMatchObject({
          blockNumber: String(Number(receipt['blockNumber'])),
          blockHash: receipt['blockHash'],
          transactionIndex: String(Number(receipt['transactionIndex'])),
          from: receipt['from'],
          to: receipt['to'] ?? '',
          gasUsed: String(Number(receipt['gasUsed'])),
          cumulativeGasUsed: String(Number(receipt['cumulativeGasUsed'])),
          gasPrice: String(Number(receipt['effectiveGasPrice'])),
          contractAddress: receipt['contractAddress'] ?? '',
          txreceipt_status: String(Number(receipt['status'])),
          isError: receipt['status'] === '0x1' ? '0' : '1',
        })
      }
      const pages: string[] = []
      for (let page = 1; ; page++) {
        const part = await ask('account', 'txlist', {
          address: toBech32(hexToBytes(sender)),
          page: String(page),
          offset: '2',
        })
        if (part.status === '0') {
          expect(part).toEqual({ status: '0', message: 'No transactions found', result: [] })
          break
        }
        pages.push(...part.result.map(({ hash }: { hash: string }) => hash))
      }
      expect(pages).toEqual(all.map(({ hash }) => hash!).toReversed())
      const at = all[1]!['blockNumber']!
      const some = await list('account', 'txlist', { address: sender, startblock: at, endblock: at })
      expect(some.map(({ blockNumber }) => blockNumber)).toEqual(some.map(() => at))
    })

    it('lists calls of contracts, creations and tokens', async () => {
      const { evm, tokens, sender } = chain()
      const calls = await list('account', 'txlistinternal', { txhash: evm.creation })
      expect(calls.map(({ type, value }) => `${type} ${value}`)).toEqual(['create 7', 'call 5'])
      const ofChild = await list('account', 'txlistinternal', { address: evm.child })
      expect(ofChild.map(({ type }) => type)).toContain('selfdestruct')
      expect(
        await list('contract', 'getcontractcreation', { contractaddresses: `${evm.child},${evm.puppet}` }),
      ).toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            contractAddress: evm.child.toLowerCase(),
            txHash: evm.creation,
            contractFactory: evm.puppet.toLowerCase(),
          }),
          expect.objectContaining({ contractAddress: evm.puppet.toLowerCase(), contractFactory: '' }),
        ]),
      )
      const [transfer] = await list('account', 'tokentx', { address: sender, contractaddress: tokens[0]! })
      expect(transfer).toMatchObject({ value: '400', tokenSymbol: 'SMPL', tokenDecimal: '18' })
      const [nft] = await list('account', 'tokennfttx', { address: sender })
      expect(nft).toMatchObject({ tokenID: '1', contractAddress: tokens[1]!.toLowerCase() })
      const items = await list('account', 'token1155tx', { address: sender })
      expect(items.map(({ tokenID, tokenValue }) => `${tokenID} ${tokenValue}`)).toEqual(['1 10', '2 5'])
      expect((await ask('account', 'tokenbalance', { address: sender, contractaddress: tokens[0]! })).result).toBe(
        '400',
      )
      const holders = await list('token', 'tokenholderlist', { contractaddress: tokens[0]! })
      expect(holders.map(({ TokenHolderQuantity }) => TokenHolderQuantity)).toEqual(['600', '400'])
      expect((await ask('token', 'tokenholdercount', { contractaddress: tokens[0]! })).result).toBe('2')
      expect((await ask('stats', 'tokensupply', { contractaddress: tokens[0]! })).result).toBe('1000')
    })

    it('finds logs by address and topics as eth_getLogs does', async () => {
      const { url, tokens, sender } = chain()
      const transfer = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
      const to = `0x${'00'.repeat(12)}${sender.slice(2).toLowerCase()}`
      const filter = { fromBlock: '0x0', toBlock: 'latest', address: tokens[0] }
      const shown = (logs: readonly Record<string, string>[]) =>
        logs.map((own) => [
          own['transactionHash'],
          Number(own['logIndex']),
          own['data'],
          own['topics'],
          own['blockNumber'],
        ])
      const byAddress = await rpc<Record<string, string>[]>(url, 'eth_getLogs', filter)
      expect(shown(await list('logs', 'getLogs', { address: tokens[0]! }))).toEqual(shown(byAddress))
      const both = await rpc<Record<string, string>[]>(url, 'eth_getLogs', { ...filter, topics: [transfer, null, to] })
      expect(both.length).toBe(1)
      const asked = { address: tokens[0]!, topic0: transfer, topic2: to }
      expect(shown(await list('logs', 'getLogs', { ...asked, topic0_2_opr: 'and' }))).toEqual(shown(both))
      expect(shown(await list('logs', 'getLogs', { ...asked, topic0_2_opr: 'or' }))).toEqual(shown(byAddress))
      const anywhere = await list('logs', 'getLogs', {
        topic0: transfer,
        topic2: to,
        fromBlock: '0',
        toBlock: '99999999',
      })
      expect(anywhere.length).toBeGreaterThan(1)
    })

    it('names functions of a verified contract, and of no other', async () => {
      const { evm, tokens, url } = chain()
      const abi = JSON.parse((await ask('contract', 'getabi', { address: evm.child })).result) as Abi
      const data = encodeFunctionData({ abi, functionName: 'run', args: [[]] })
      const writer = createWalletClient({ chain: viemChain(url), transport: http(url), account: ACCOUNTS[8]! })
      const fees = { maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI, gas: 100_000n } as const
      const hash = await writer.sendTransaction({ ...fees, to: evm.child, data, nonce: 1 })
      await mined(url, hash)
      const ofChild = async () => (await ask('account', 'txlist', { address: evm.child })).result
      while ((await ofChild()).length === 0) await new Promise((resolve) => setTimeout(resolve, 50))
      expect(await ofChild()).toMatchObject([{ hash, methodId: data.slice(0, 10), functionName: 'run(tuple[] steps)' }])
      const others = await list('account', 'txlist', { address: tokens[0]! })
      expect(new Set(others.map(({ functionName }) => functionName))).toEqual(new Set(['']))
    })

    it('counts by day what the blocks have', async () => {
      const { explorerUrl } = chain()
      const days = ((await (await fetch(`${explorerUrl}api/v1/statistics?unit=day`)).json()) as Answer['result']).items
      const start = days.at(-1).start.slice(0, 10)
      const dates = { startdate: start, enddate: days[0].start.slice(0, 10) }
      const [first] = await list('stats', 'dailytx', dates)
      const { evmTransactions, nativeTransactions, fees } = days.at(-1)
      expect(first).toMatchObject({ UTCDate: start, transactionCount: evmTransactions + nativeTransactions })
      const [paid] = await list('stats', 'dailytxnfee', dates)
      expect(parseEther(paid!['transactionFee_Eth']!)).toBe(BigInt(fees))
      const [blocks] = await list('stats', 'dailyblkcount', dates)
      expect(Number(blocks!['blockCount'])).toBeGreaterThanOrEqual(days.at(-1).blocks)
    })

    it('tells balances, blocks, fees and the supply', async () => {
      const { url, sender } = chain()
      const { result } = await ask('account', 'balance', { address: sender, tag: '1' })
      expect(result).toBe(BigInt(await rpc<Hex>(url, 'eth_getBalance', sender, '0x1')).toString())
      const both = await list('account', 'balancemulti', {
        address: `${sender},${ACCOUNTS[2]!.address}`,
        tag: 'latest',
      })
      expect(both.map(({ account }) => getAddress(account!))).toEqual([sender, ACCOUNTS[2]!.address])
      const block = await rpc<Record<string, string>>(url, 'eth_getBlockByNumber', numberToHex(3), false)
      const timestamp = String(Number(block['timestamp']))
      const before = (await ask('block', 'getblocknobytime', { timestamp, closest: 'before' })).result
      const after = (await ask('block', 'getblocknobytime', { timestamp, closest: 'after' })).result
      expect(Number(after)).toBeLessThanOrEqual(3)
      expect(Number(before)).toBeGreaterThanOrEqual(3)
      expect((await ask('block', 'getblockreward', { blockno: '3' })).result.blockMiner).toBe(block['miner'])
      expect((await ask('block', 'getblockcountdown', { blockno: '99999999' })).result.RemainingBlock).toMatch(
        /^[0-9]+$/,
      )
      expect((await ask('stats', 'ethsupply')).result).toMatch(/^[0-9]{20,}$/)
      expect((await ask('gastracker', 'gasoracle')).result.suggestBaseFee).toMatch(/^[0-9.]+$/)
      expect(await (await fetch(`${chain().explorerUrl}v2/chainlist`)).json()).toMatchObject({
        result: [{ chainid: String(CHAIN_ID) }],
      })
    })

    it.each([
      [{ module: 'account' }, 'Error! Missing Or invalid Action name'],
      [{ module: `account' or 1=1; --`, action: 'balance' }, 'Error! Missing Or invalid Module name'],
      [{ module: 'account', action: 'constructor' }, 'Error! Missing Or invalid Action name'],
      [{ module: 'account', action: 'balance' }, 'Error! Missing address'],
      [{ module: 'account', action: 'balance', address: `' or 1=1; --` }, 'Error! Invalid address format'],
      [
        { module: 'account', action: 'balancemulti', address: Array(21).fill('0x0').join(',') },
        'Error! Maximum of 20 addresses for address',
      ],
      [
        { module: 'account', action: 'txlist', address: ACCOUNTS[1]!.address, page: '101', offset: '100' },
        'Result window is too large, PageNo x Offset size must be less than or equal to 10000',
      ],
      [
        { module: 'account', action: 'txlist', address: ACCOUNTS[1]!.address, sort: 'up' },
        'Error! Invalid sort, expected asc or desc',
      ],
      [{ module: 'account', action: 'txlist', address: ACCOUNTS[1]!.address, page: '-1' }, 'Error! Invalid page'],
      [{ module: 'account', action: 'txlistinternal' }, 'Error! Missing address, txhash, or startblock and endblock'],
      [{ module: 'transaction', action: 'getstatus', txhash: '0x12' }, 'Error! Invalid transaction hash format'],
      [{ module: 'logs', action: 'getLogs' }, 'Error! Missing address or topic'],
      [{ module: 'stats', action: 'ethprice' }, 'Error! This explorer has no price of the coin'],
      [
        { module: 'account', action: 'balance', address: freshAddress(), chainid: '1' },
        'Missing or unsupported chainid',
      ],
    ])('refuses %j in Etherscan’s words', async (query, text) => {
      const { module = '', action = '', ...rest } = query as unknown as Readonly<Record<string, string>>
      const answer = await ask(module, action, rest)
      expect([answer.status, answer.message]).toEqual(['0', 'NOTOK'])
      expect(answer.result).toContain(text)
    })

    it('relays nothing but what it has read itself', async () => {
      for (const action of ['eth_accounts', 'debug_traceTransaction', 'eth_getLogs', 'web3_clientVersion']) {
        expect(await ask('proxy', action)).toMatchObject({
          error: { message: 'Error! Missing Or invalid Action name' },
        })
      }
      const answer = (await ask('proxy', 'eth_call', { to: freshAddress(), data: '0xzz' })) as unknown as {
        error: { message: string }
      }
      expect(answer.error.message).toContain('Invalid data')
      const unknown = await fetch(`${chain().explorerUrl}v2/api?module=stats&action=ethsupply`)
      expect(((await unknown.json()) as Answer).result).toContain('Missing or unsupported chainid')
      const twice = await fetch(`${chain().explorerUrl}api?module=stats&module=proxy&action=ethsupply`)
      expect(((await twice.json()) as Answer).result).toBe('Error! A parameter is given twice')
      const json = await fetch(`${chain().explorerUrl}api`, {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json' },
      })
      expect(json.status).toBe(415)
    })
  })
}
