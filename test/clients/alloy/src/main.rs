//! Talks to a node by alloy; ends with 1 at the first answer that is not as expected.

use std::{env, time::Duration};

use alloy::{
    eips::{BlockId, BlockNumberOrTag},
    network::TransactionBuilder,
    primitives::{Address, B256, TxHash, U256, address},
    providers::{
        Provider, ProviderBuilder, WsConnect,
        ext::{DebugApi, TraceApi},
    },
    rpc::types::{
        Filter, TransactionRequest,
        simulate::{SimBlock, SimulatePayload},
        state::{AccountOverride, StateOverride},
        trace::geth::{CallConfig, GethDebugTracingOptions},
    },
    signers::local::PrivateKeySigner,
    sol,
};
use eyre::{Result, ensure, eyre};
use futures_util::StreamExt;

sol! {
    #[sol(rpc)]
    interface Token {
        event Transfer(address indexed from, address indexed to, uint256 value);
        error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
        function balanceOf(address account) external view returns (uint256);
        function transfer(address to, uint256 value) external returns (bool);
    }
}

/// Watchers that are made one after another: an id with leading zeros is one in sixteen.
const WATCHERS: usize = 60;
const SUBSCRIPTIONS: usize = 60;
const RECEIVER: Address = address!("0x1200000000000000000000000000000000000012");
const PATIENCE: Duration = Duration::from_secs(30);

fn variable(name: &str) -> String {
    env::var(name).expect(name)
}

#[tokio::main]
async fn main() -> Result<()> {
    let signer: PrivateKeySigner = variable("PRIVATE_KEY").parse()?;
    let account = signer.address();
    let token: Address = variable("TOKEN").parse()?;
    let http = ProviderBuilder::new()
        .wallet(signer.clone())
        .connect_http(variable("RPC_URL").parse()?);
    http.client().set_poll_interval(Duration::from_millis(200));
    read(&http, account, token).await?;
    send(&http, account, token).await?;
    simulate(&http, account, token).await?;
    trace(&http).await?;
    watch(&http, account, token).await?;
    let socket = ProviderBuilder::new()
        .wallet(signer)
        .connect_ws(WsConnect::new(variable("WS_URL")))
        .await?;
    subscribe(&socket, account, token).await
}

async fn read(provider: &impl Provider, account: Address, token: Address) -> Result<()> {
    ensure!(
        provider.get_chain_id().await?.to_string() == variable("CHAIN_ID"),
        "chain ID"
    );
    let head = provider
        .get_block(BlockId::latest())
        .full()
        .await?
        .ok_or_else(|| eyre!("no head"))?;
    ensure!(
        head.header.hash_slow() == head.header.hash,
        "the hash of the head is not that of its fields"
    );
    let first: u64 = variable("TOKEN_BLOCK").parse()?;
    let filter = Filter::new()
        .address(token)
        .event("Transfer(address,address,uint256)")
        .from_block(first);
    let count = provider.get_logs(&filter).await?.len();
    ensure!(
        count > variable("TOKEN_TRANSFERS").parse()?,
        "{count} logs of transfers"
    );
    let receipts = provider
        .get_block_receipts(BlockId::number(first))
        .await?
        .unwrap_or_default();
    ensure!(!receipts.is_empty(), "no receipts of the token's block");

    let contract = Token::new(token, provider);
    let balance = contract.balanceOf(account).call().await?;
    ensure!(balance > U256::ZERO, "the account holds no token");
    let held = provider.get_proof(token, vec![B256::ZERO]).await?;
    ensure!(
        !held.account_proof.is_empty() && held.storage_proof.len() == 1,
        "proof"
    );
    let refused = contract
        .transfer(account, U256::MAX)
        .from(account)
        .call()
        .await
        .unwrap_err();
    let error = refused.as_decoded_error::<Token::ERC20InsufficientBalance>();
    ensure!(
        error.is_some_and(|it| it.balance == balance),
        "a custom error: {refused}"
    );
    let without = provider.estimate_gas(
        TransactionRequest::default()
            .with_from(Address::repeat_byte(0x77))
            .with_to(RECEIVER)
            .with_value(U256::ONE),
    );
    ensure!(without.await.is_err(), "an account without coins pays");
    println!("blocks whose hash is that of their fields, logs, receipts, a proof, a custom error");
    Ok(())
}

async fn send(provider: &impl Provider, account: Address, token: Address) -> Result<()> {
    // The fillers of a provider take chain ID, nonce, gas and fees from the node.
    let contract = Token::new(token, provider);
    let sent = contract.transfer(RECEIVER, U256::ONE).send().await?;
    let receipt = sent
        .with_required_confirmations(2)
        .with_timeout(Some(PATIENCE))
        .get_receipt()
        .await?;
    ensure!(
        receipt.status() && receipt.from == account,
        "the receipt of what was sent"
    );
    let event = receipt
        .decoded_log::<Token::Transfer>()
        .ok_or_else(|| eyre!("no event"))?;
    ensure!(
        event.to == RECEIVER && event.value == U256::ONE,
        "its event"
    );
    let found = provider
        .get_transaction_by_hash(receipt.transaction_hash)
        .await?
        .ok_or_else(|| eyre!("not found"))?;
    ensure!(found.block_number == receipt.block_number, "its block");
    println!("a transaction that its fillers complete, two confirmations, its event");
    Ok(())
}

async fn simulate(provider: &impl Provider, account: Address, token: Address) -> Result<()> {
    let payer = Address::repeat_byte(0x55);
    let rich = AccountOverride {
        balance: Some(U256::from(10).pow(U256::from(20))),
        ..Default::default()
    };
    let call = TransactionRequest::default()
        .with_from(payer)
        .with_to(account)
        .with_value(U256::from(7));
    let overrides = StateOverride::from_iter([(payer, rich)]);
    let payload = SimulatePayload {
        block_state_calls: vec![
            SimBlock::default()
                .with_state_overrides(overrides.clone())
                .call(call.clone()),
        ],
        trace_transfers: true,
        ..Default::default()
    };
    let blocks = provider.simulate(&payload).await?;
    ensure!(
        blocks.len() == 1 && blocks[0].calls[0].status && blocks[0].calls[0].logs.len() == 1,
        "simulation"
    );
    provider.call(call).overrides(overrides).await?;
    let request = Token::new(token, provider)
        .transfer(RECEIVER, U256::ONE)
        .from(account)
        .into_transaction_request();
    let list = provider.create_access_list(&request).await?;
    ensure!(
        list.ensure_ok()
            .is_ok_and(|it| !it.access_list.0.is_empty()),
        "access list"
    );
    println!("eth_simulateV1 and a call with overrides, an access list");
    Ok(())
}

async fn trace(provider: &impl Provider) -> Result<()> {
    let hash: TxHash = variable("TOKEN_TX").parse()?;
    let options = GethDebugTracingOptions::call_tracer(CallConfig::default().with_log());
    let frame = provider
        .debug_trace_transaction(hash, options.clone())
        .await?
        .try_into_call_frame()?;
    ensure!(frame.logs.len() == 1 && frame.error.is_none(), "callTracer");
    let receipt = provider
        .get_transaction_receipt(hash)
        .await?
        .ok_or_else(|| eyre!("no receipt"))?;
    let number = BlockNumberOrTag::Number(receipt.block_number.unwrap_or_default());
    ensure!(
        !provider
            .debug_trace_block_by_number(number, options)
            .await?
            .is_empty(),
        "traces of a block"
    );
    ensure!(
        provider.trace_transaction(hash).await?.len() == 1,
        "trace_transaction"
    );
    ensure!(
        !provider.trace_block(number.into()).await?.is_empty(),
        "trace_block"
    );
    println!("traces of both namespaces");
    Ok(())
}

/// Watchers poll filters, whose ids alloy holds as quantities.
async fn watch(provider: &impl Provider, account: Address, token: Address) -> Result<()> {
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        watchers.push(provider.watch_blocks().await?.into_stream());
    }
    for (index, watcher) in watchers.iter_mut().enumerate() {
        let hashes = tokio::time::timeout(PATIENCE, watcher.next()).await?;
        ensure!(hashes.is_some(), "watcher {index} ended");
    }
    let logs = provider.watch_logs(&Filter::new().address(token)).await?;
    let mut logs = logs.into_stream();
    let contract = Token::new(token, provider);
    contract
        .transfer(account, U256::from(2))
        .send()
        .await?
        .watch()
        .await?;
    let seen = tokio::time::timeout(PATIENCE, logs.next())
        .await?
        .ok_or_else(|| eyre!("the watcher of logs ended"))?;
    ensure!(seen.len() == 1, "{} logs", seen.len());
    println!("{WATCHERS} watchers of blocks, one of logs");
    Ok(())
}

async fn subscribe(provider: &impl Provider, account: Address, token: Address) -> Result<()> {
    // alloy ends subscriptions by requests with the id 1, so no other request may wait with that id.
    provider.get_chain_id().await?;
    provider.get_chain_id().await?;
    for index in 0..SUBSCRIPTIONS {
        let mut heads = provider.subscribe_blocks().await?;
        if index == 0 {
            tokio::time::timeout(PATIENCE, heads.recv()).await??;
        }
        provider.unsubscribe(*heads.local_id()).await?;
    }
    let mut logs = provider
        .subscribe_logs(&Filter::new().address(token))
        .await?;
    let mut pending = provider.subscribe_pending_transactions().await?;
    let sent = *Token::new(token, provider)
        .transfer(account, U256::from(3))
        .send()
        .await?
        .tx_hash();
    while tokio::time::timeout(PATIENCE, pending.recv()).await?? != sent {}
    let log = tokio::time::timeout(PATIENCE, logs.recv()).await??;
    ensure!(
        log.transaction_hash == Some(sent),
        "a log of another transaction"
    );
    println!(
        "{SUBSCRIPTIONS} subscriptions that end, logs and pending transactions over a WebSocket"
    );
    Ok(())
}
