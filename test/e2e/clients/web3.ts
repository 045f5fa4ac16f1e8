import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ContractAbi, Web3, type Contract as Web3Contract } from 'web3'
import { compileContract } from '../../../contracts/compile.ts'
import { ACCOUNTS, CHAIN_ID, COIN, freshAddress, KEYS, NATIVE_TOKEN } from '../devChain.ts'
import { until } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'

const VAULT = compileContract('test/Vault.sol', 'Vault')
const ABI = VAULT.abi as unknown as ContractAbi

let node: TestNode

/** web3.js, over both transports. */
export function web3Tests(devnet: () => TestNode): void {
  beforeAll(() => {
    node = devnet()
  })

  /** What web3 throws when an answer is an error that it can decode. */
  interface Web3Error extends Error {
    readonly cause?: {
      readonly errorName?: string
      readonly errorArgs?: Record<string, unknown>
      readonly message: string
    }
  }

  describe.each([
    ['http', () => node.url, 1],
    ['webSocket', () => node.wsUrl, 2],
  ] as const)('web3 over %s', (name, url, accountIndex) => {
    const from = ACCOUNTS[accountIndex]!.address
    let web3: Web3
    let vault: Web3Contract<ContractAbi>

    beforeAll(async () => {
      web3 = new Web3(url())
      web3.transactionPollingInterval = 100
      // web3 goes on asking for that many blocks after each receipt.
      web3.transactionConfirmationBlocks = 1
      web3.eth.accounts.wallet.add(KEYS[accountIndex]!)
      vault = await new web3.eth.Contract(ABI)
        .deploy({ data: VAULT.bytecode, arguments: [7] })
        .send({ from, value: '3' })
    })
    afterAll(() => {
      if (web3.provider?.supportsSubscriptions()) web3.provider.disconnect()
    })

    const failure = (action: Promise<unknown>): Promise<Web3Error> =>
      action.then(
        () => expect.fail('it went through'),
        (error: Web3Error) => error,
      )

    it('knows the chain', async () => {
      expect(await web3.eth.getChainId()).toBe(BigInt(CHAIN_ID))
      expect(await web3.eth.net.getId()).toBe(BigInt(CHAIN_ID))
      expect(await web3.eth.net.isListening()).toBe(true)
      expect(await web3.eth.getNodeInfo()).toMatch(/^coind\//)
      expect(await web3.eth.getAccounts()).toEqual([])
      const block = await web3.eth.getBlock('latest')
      expect((await web3.eth.getBlock(block.hash!)).number).toBe(block.number)
      expect(await web3.eth.getCode(vault.options.address!)).toMatch(/^0x[0-9a-f]{100,}$/)
    })

    it('sends coins and waits for the receipt', async () => {
      const to = freshAddress()
      const receipt = await web3.eth.sendTransaction({ from, to, value: COIN })
      expect(receipt).toMatchObject({ status: 1n, gasUsed: 21_000n, to: to.toLowerCase() })
      expect(await web3.eth.getBalance(to)).toBe(COIN)
      expect(await web3.eth.getBalance(to, BigInt(receipt.blockNumber) - 1n)).toBe(0n)
      const transaction = await web3.eth.getTransaction(receipt.transactionHash)
      expect(transaction).toMatchObject({ hash: receipt.transactionHash, value: COIN, type: 2n })
      expect(await web3.eth.getTransactionReceipt(receipt.transactionHash)).toMatchObject({ status: 1n })
    })

    it('sends transactions of type 0 and 1', async () => {
      const gasPrice = await web3.eth.getGasPrice()
      const accessList = [{ address: vault.options.address!, storageKeys: [`0x${'00'.repeat(32)}`] }]
      const to = freshAddress()
      expect(await web3.eth.sendTransaction({ from, to, gasPrice, type: 0 })).toMatchObject({ status: 1n, type: 0n })
      expect(await web3.eth.sendTransaction({ from, to, gasPrice, type: 1, accessList, gas: 30_000 })).toMatchObject({
        status: 1n,
        type: 1n,
        gasUsed: 25_300n,
      })
    })

    it('calls, writes, and reads logs', async () => {
      const { methods } = vault
      const first = BigInt((await methods.count!().call()) as never)
      const gas = await methods.deposit!('hello').estimateGas({ from, value: '12' })
      const receipt = await methods.deposit!('hello').send({ from, value: '12', gas: gas.toString() })
      expect(receipt.events?.Deposited?.returnValues).toMatchObject({ from, number: first, amount: 12n, note: 'hello' })
      expect(await methods.count!().call()).toBe(first + 1n)
      expect(await methods.count!().call({}, BigInt(receipt.blockNumber) - 1n)).toBe(first)
      const options = { fromBlock: receipt.blockNumber, toBlock: 'latest' }
      expect(await vault.getPastEvents('Deposited' as 'allEvents', { ...options, filter: { from } })).toHaveLength(1)
      expect(
        await vault.getPastEvents('Deposited' as 'allEvents', { ...options, filter: { from: freshAddress() } }),
      ).toEqual([])
    })

    it('decodes custom errors and reasons', async () => {
      const error = await failure(vault.methods.withdraw!(1_000).call({ from }))
      expect(error.cause).toMatchObject({
        errorName: 'InsufficientDeposit',
        errorArgs: { account: from, wanted: 1_000n },
      })
      expect((await failure(vault.methods.refuse!().call())).cause?.message).toContain('refused')
      const sent = vault.methods.withdraw!(1_000).send({ from, gas: '100000' })
      expect(await failure(Promise.resolve(sent))).toMatchObject({ receipt: { status: 0n } })
    })

    it('shows the native token as an ERC-20 contract', async () => {
      const token = new web3.eth.Contract(
        [
          {
            type: 'function',
            name: 'transfer',
            stateMutability: 'nonpayable',
            inputs: [
              { name: 'to', type: 'address' },
              { name: 'value', type: 'uint256' },
            ],
            outputs: [{ name: '', type: 'bool' }],
          },
          {
            type: 'event',
            name: 'Transfer',
            inputs: [
              { name: 'from', type: 'address', indexed: true },
              { name: 'to', type: 'address', indexed: true },
              { name: 'value', type: 'uint256', indexed: false },
            ],
          },
        ] as const,
        NATIVE_TOKEN,
      )
      const to = freshAddress()
      const receipt = await token.methods.transfer(to, 77).send({ from })
      expect(receipt.events?.Transfer?.returnValues).toMatchObject({ from, to, value: 77n })
      expect(await web3.eth.getBalance(to)).toBe(77n)
    })

    it('replaces a waiting transaction for 10 % more and fills the gap before it', async () => {
      const nonce = await web3.eth.getTransactionCount(from, 'pending')
      const [former, latter, filler] = [freshAddress(), freshAddress(), freshAddress()]
      const send = async (to: string, at: bigint, percent: bigint): Promise<string> => {
        const { rawTransaction } = await web3.eth.accounts.signTransaction(
          {
            to,
            value: 1,
            nonce: at,
            gas: 21_000,
            maxFeePerGas: 100_000_000n * percent,
            maxPriorityFeePerGas: 10_000_000n * percent,
            chainId: CHAIN_ID,
          },
          KEYS[accountIndex]!,
        )
        // sendSignedTransaction would go on waiting for a receipt after a refusal.
        return web3.requestManager.send({ method: 'eth_sendRawTransaction', params: [rawTransaction] })
      }
      await send(former, nonce + 1n, 100n)
      expect((await failure(send(latter, nonce + 1n, 109n))).cause?.message).toBe('replacement transaction underpriced')
      await send(latter, nonce + 1n, 110n)
      expect(await web3.eth.getTransactionCount(from, 'pending')).toBe(nonce)
      await send(filler, nonce, 100n)
      await until('both', async () => (await web3.eth.getTransactionCount(from)) === nonce + 2n)
      const balances = [former, latter, filler].map((address) => web3.eth.getBalance(address))
      expect(await Promise.all(balances)).toEqual([0n, 1n, 1n])
    })

    it('estimates fees', async () => {
      expect(await web3.eth.getGasPrice()).toBeGreaterThanOrEqual(10n ** 9n)
      const history = await web3.eth.getFeeHistory(4, 'latest', [25])
      expect(history.baseFeePerGas.length).toBe(history.gasUsedRatio.length + 1)
      const fees = await web3.eth.calculateFeeData()
      expect(fees.maxFeePerGas).toBeGreaterThan(10n ** 9n)
    })

    // web3 subscribes over WebSocket only.
    if (name !== 'webSocket') return
    it('watches blocks, events, pending transactions and synchronization', async () => {
      const blocks: bigint[] = []
      const notes: string[] = []
      const pending: string[] = []
      const heads = await web3.eth.subscribe('newHeads')
      heads.on('data', ({ number }) => void blocks.push(BigInt(number as bigint)))
      const hashes = await web3.eth.subscribe('newPendingTransactions')
      hashes.on('data', (hash) => void pending.push(hash))
      const events = await web3.eth.subscribe('logs', { address: vault.options.address!, topics: [] })
      events.on('data', ({ data }) => {
        const decoded = web3.eth.abi.decodeParameters(['uint256', 'string'], data as string)
        notes.push(decoded[1] as string)
      })
      await web3.eth.subscribe('syncing')
      const sent = [
        await vault.methods.deposit!('one').send({ from }),
        await vault.methods.deposit!('two').send({ from }),
      ]
      await until('both events', async () => notes.length >= 2)
      await until('both hashes', async () => sent.every(({ transactionHash }) => pending.includes(transactionHash)))
      await until('three blocks', async () => blocks.length >= 3)
      await web3.eth.clearSubscriptions()
      expect(notes).toEqual(['one', 'two'])
      expect(blocks).toEqual(blocks.map((_, index) => blocks[0]! + BigInt(index)))
    })
  })
}
