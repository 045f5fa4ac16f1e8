import {
  type AbstractProvider,
  type BaseContract,
  Contract,
  ContractFactory,
  type ContractTransactionResponse,
  type EventLog,
  isError,
  JsonRpcProvider,
  type TransactionRequest,
  Wallet,
  WebSocketProvider,
} from 'ethers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHAIN_ID, COIN, freshAddress, GWEI, KEYS, NATIVE_TOKEN, VAULT_SIGNATURES, vaultBytecode } from '../devChain.ts'
import { until } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'

let node: TestNode

/** ethers, over both transports. */
export function ethersTests(devnet: () => TestNode): void {
  beforeAll(() => {
    node = devnet()
  })

  /** The functions of Vault, as ethers makes them at run time. */
  interface Vault extends BaseContract {
    deposit(note: string, overrides: TransactionRequest): Promise<ContractTransactionResponse>
    withdraw: {
      (amount: bigint, overrides: TransactionRequest): Promise<ContractTransactionResponse>
      staticCall(amount: bigint): Promise<void>
      estimateGas(amount: bigint): Promise<bigint>
    }
    refuse(): Promise<void>
    divide(a: bigint, b: bigint): Promise<bigint>
    deposits(account: string): Promise<bigint>
    count(overrides?: { blockTag: number }): Promise<bigint>
  }

  describe.each([
    // No cache: ethers would answer from one for 250 ms, and blocks are 400 ms apart.
    [
      'http',
      () => new JsonRpcProvider(node.url, undefined, { cacheTimeout: -1, pollingInterval: 100 }),
      new Wallet(KEYS[1]!),
    ],
    ['webSocket', () => new WebSocketProvider(node.wsUrl, undefined, { cacheTimeout: -1 }), new Wallet(KEYS[2]!)],
  ] as const)('ethers over %s', (_name, makeProvider, key) => {
    let provider: AbstractProvider
    let wallet: Wallet
    let vault: Vault

    /** The error that an action ends with. */
    const failure = (action: Promise<unknown>): Promise<Error> =>
      action.then(
        () => expect.fail('it went through'),
        (error: Error) => error,
      )

    beforeAll(async () => {
      provider = makeProvider()
      wallet = key.connect(provider)
      const factory = new ContractFactory(VAULT_SIGNATURES, vaultBytecode(), wallet)
      const deployed = await factory.deploy(7n, { value: 3n })
      vault = (await deployed.waitForDeployment()) as Vault
    })
    afterAll(() => provider.destroy())

    it('knows the chain', async () => {
      expect((await provider.getNetwork()).chainId).toBe(BigInt(CHAIN_ID))
      const block = await provider.getBlock('latest')
      expect((await provider.getBlock(block!.hash!))?.number).toBe(block!.number)
      expect(await provider.getBlockNumber()).toBeGreaterThanOrEqual(block!.number)
      expect(await provider.getBlock(10_000_000)).toBeNull()
    })

    it('sends coins and waits for the receipt', async () => {
      const to = freshAddress()
      const response = await wallet.sendTransaction({ to, value: COIN })
      const receipt = await response.wait()
      expect(receipt).toMatchObject({ status: 1, type: 2, gasUsed: 21_000n, hash: response.hash, to })
      expect(await receipt!.confirmations()).toBeGreaterThan(0)
      expect(await provider.getBalance(to)).toBe(COIN)
      expect(await provider.getBalance(to, receipt!.blockNumber - 1)).toBe(0n)
      const block = await provider.getBlock(receipt!.blockNumber, true)
      expect(block!.prefetchedTransactions.map(({ hash }) => hash)).toContain(response.hash)
      expect((await provider.getTransaction(response.hash))?.from).toBe(wallet.address)
    })

    it('sends transactions of type 0, 1 and 4', async () => {
      const target = (await vault.getAddress()).toLowerCase()
      const accessList = [{ address: target, storageKeys: [`0x${'00'.repeat(32)}`] }]
      const legacy = await (await wallet.sendTransaction({ to: freshAddress(), type: 0 })).wait()
      expect(legacy).toMatchObject({ status: 1, type: 0, gasUsed: 21_000n })
      const listed = await (await wallet.sendTransaction({ to: freshAddress(), type: 1, accessList })).wait()
      expect(listed).toMatchObject({ status: 1, type: 1, gasUsed: 25_300n })
      const delegate = Wallet.createRandom()
      const authorization = await delegate.authorize({ address: target, chainId: CHAIN_ID, nonce: 0 })
      const delegation = { to: delegate.address, type: 4, authorizationList: [authorization], data: '0x06661abd' }
      expect(await (await wallet.sendTransaction(delegation)).wait()).toMatchObject({ status: 1, type: 4 })
      expect(await provider.getCode(delegate.address)).toBe(`0xef0100${target.slice(2)}`)
    })

    it('calls, writes, and reads logs', async () => {
      const first = await vault.count()
      const response = await vault.deposit('hello', { value: 12n })
      const receipt = (await response.wait())!
      expect(await vault.count()).toBe(first + 1n)
      expect(await vault.count({ blockTag: receipt.blockNumber - 1 })).toBe(first)
      const logs = await vault.queryFilter(vault.filters.Deposited!(wallet.address), receipt.blockNumber)
      expect(logs.map((log) => (log as EventLog).args.toArray())).toEqual([[wallet.address, first, 12n, 'hello']])
      expect(logs[0]).toMatchObject({ transactionHash: receipt.hash, blockHash: receipt.blockHash, removed: false })
      expect(await vault.queryFilter(vault.filters.Deposited!(freshAddress()), 0)).toEqual([])
    })

    it('decodes custom errors, reasons and panics', async () => {
      const held = await vault.deposits(wallet.address)
      const error = await failure(vault.withdraw.staticCall(1_000n))
      const estimateError = await failure(vault.withdraw.estimateGas(1_000n))
      expect(error).toMatchObject({ code: 'CALL_EXCEPTION', revert: { name: 'InsufficientDeposit' } })
      if (!isError(error, 'CALL_EXCEPTION') || !isError(estimateError, 'CALL_EXCEPTION')) expect.fail('other errors')
      expect([...error.revert!.args]).toEqual([wallet.address, held, 1_000n])
      expect(vault.interface.parseError(estimateError.data!)?.name).toBe('InsufficientDeposit')
      expect(await failure(vault.refuse())).toMatchObject({ code: 'CALL_EXCEPTION', reason: 'refused' })
      expect(await failure(vault.divide(1n, 0n))).toMatchObject({ code: 'CALL_EXCEPTION', revert: { name: 'Panic' } })
      const mined = await vault.withdraw(1_000n, { gasLimit: 100_000n })
      expect(await failure(mined.wait())).toMatchObject({ code: 'CALL_EXCEPTION', receipt: { status: 0 } })
    })

    it('shows the native token as an ERC-20 contract', async () => {
      const token = new Contract(
        NATIVE_TOKEN,
        [
          'function symbol() view returns (string)',
          'function transfer(address to, uint256 value) returns (bool)',
          'event Transfer(address indexed from, address indexed to, uint256 value)',
          'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
        ],
        wallet,
      )
      expect(await token.symbol!()).toBe('COIN')
      const to = freshAddress()
      const receipt = await ((await token.transfer!(to, 77n)) as ContractTransactionResponse).wait()
      expect(await provider.getBalance(to)).toBe(77n)
      const [log] = await token.queryFilter(token.filters.Transfer!(null, to), receipt!.blockNumber)
      expect((log as EventLog).args.toArray()).toEqual([wallet.address, to, 77n])
      expect(await failure(token.transfer!.staticCall(to, 10n ** 30n))).toMatchObject({
        revert: { name: 'ERC20InsufficientBalance' },
      })
    })

    it('watches blocks, events and pending transactions', async () => {
      const blocks: number[] = []
      const notes: string[] = []
      const pending: string[] = []
      await provider.on('block', (number: number) => blocks.push(number))
      await provider.on('pending', (hash: string) => pending.push(hash))
      await vault.on('Deposited', (_from: string, _number: bigint, _amount: bigint, note: string) => notes.push(note))
      await until('first block', async () => blocks.length > 0)
      const sent = [await vault.deposit('one', { value: 1n }), await vault.deposit('two', { value: 1n })]
      for (const response of sent) await response.wait()
      await until('both events', async () => notes.length >= 2)
      await until('both hashes', async () => sent.every(({ hash }) => pending.includes(hash)))
      await until('three blocks', async () => blocks.length >= 3)
      await provider.removeAllListeners()
      await vault.removeAllListeners()
      expect(notes).toEqual(['one', 'two'])
      expect(blocks).toEqual(blocks.map((_, index) => blocks[0]! + index))
    })

    it('replaces a waiting transaction for 10 % more and fills the gap before it', async () => {
      const nonce = await wallet.getNonce('pending')
      const waiting = { nonce: nonce + 1, gasLimit: 21_000n, value: 1n }
      const fees = (percent: bigint) => ({
        maxFeePerGas: (10n * GWEI * percent) / 100n,
        maxPriorityFeePerGas: (GWEI * percent) / 100n,
      })
      const [former, latter, filler] = [freshAddress(), freshAddress(), freshAddress()]
      const replaced = await wallet.sendTransaction({ ...waiting, to: former, ...fees(100n) })
      const underpriced = wallet.sendTransaction({ ...waiting, to: latter, ...fees(109n) })
      expect(isError(await failure(underpriced), 'REPLACEMENT_UNDERPRICED')).toBe(true)
      const replacement = await wallet.sendTransaction({ ...waiting, to: latter, ...fees(110n) })
      expect(await wallet.getNonce('pending')).toBe(nonce)
      const outcome = failure(replaced.wait())
      const filling = await wallet.sendTransaction({ to: filler, value: 1n, nonce })
      expect((await filling.wait())?.status).toBe(1)
      expect((await replacement.wait())?.status).toBe(1)
      expect(await outcome).toMatchObject({
        code: 'TRANSACTION_REPLACED',
        reason: 'replaced',
        replacement: { hash: replacement.hash },
      })
      const balances = [former, latter, filler].map((address) => provider.getBalance(address))
      expect(await Promise.all(balances)).toEqual([0n, 1n, 1n])
    })

    it('refuses what cannot be paid or comes too late, in words that ethers knows', async () => {
      const transfer = { to: freshAddress(), gasLimit: 21_000n }
      expect(await failure(wallet.sendTransaction({ ...transfer, nonce: 0 }))).toMatchObject({ code: 'NONCE_EXPIRED' })
      const tooMuch = wallet.sendTransaction({ ...transfer, value: 10n ** 30n })
      expect(await failure(tooMuch)).toMatchObject({ code: 'INSUFFICIENT_FUNDS' })
    })

    it('estimates fees', async () => {
      const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = await provider.getFeeData()
      expect(gasPrice).toBeGreaterThanOrEqual(GWEI)
      expect(maxPriorityFeePerGas).toBeGreaterThan(0n)
      expect(maxFeePerGas).toBeGreaterThanOrEqual(2n * GWEI)
    })
  })
}
