//! Talks to a node by cosmrs and the RPC clients that it exports; ends with 1 at the first answer that is not as expected.

use std::{env, error::Error, time::Duration};

use cosmrs::{
    Coin,
    bank::MsgSend,
    crypto::secp256k1::SigningKey,
    proto::cosmos::{
        auth::v1beta1::{QueryAccountInfoRequest, query_client::QueryClient as AuthClient},
        bank::v1beta1::{QueryBalanceRequest, query_client::QueryClient as BankClient},
        staking::v1beta1::{QueryValidatorsRequest, query_client::QueryClient as StakingClient},
        tx::v1beta1::{GetTxRequest, SimulateRequest, service_client::ServiceClient},
    },
    rpc::{
        Client, HttpClient, Order, Paging, SubscriptionClient, WebSocketClient,
        event::EventData,
        query::{EventType, Query},
    },
    tx::{self, Fee, Msg, Raw, SignDoc, SignerInfo},
};
use futures_util::StreamExt;

type Outcome<T> = Result<T, Box<dyn Error>>;

const PATIENCE: Duration = Duration::from_secs(30);
const DENOMINATION: &str = "acoin";
const GAS_PRICE: u128 = 2_000_000_000;

fn variable(name: &str) -> String {
    env::var(name).expect(name)
}

fn expect(is_true: bool, otherwise: impl Into<String>) -> Outcome<()> {
    if is_true {
        Ok(())
    } else {
        Err(otherwise.into().into())
    }
}

fn coin(amount: u128) -> Coin {
    Coin {
        denom: DENOMINATION.parse().unwrap(),
        amount,
    }
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let client = HttpClient::new(variable("COMET_URL").as_str())?;
    read(&client).await?;
    let url = format!(
        "{}/websocket",
        variable("COMET_URL").replacen("http", "ws", 1)
    );
    let (socket, driver) = WebSocketClient::new(url.as_str()).await?;
    let running = tokio::spawn(driver.run());
    transact(&client, &socket).await?;
    socket.close()?;
    running.await??;
    Ok(())
}

async fn read(client: &HttpClient) -> Outcome<()> {
    let status = client.status().await?;
    expect(
        status.node_info.network.as_str() == variable("COSMOS_CHAIN_ID"),
        "network",
    )?;
    client.health().await?;
    client.abci_info().await?;
    client.net_info().await?;
    client.latest_consensus_params().await?;
    let height = status.sync_info.latest_block_height;
    let block = client.block(height).await?;
    let commit = client.commit(height).await?;
    // tendermint-rs hashes the header's fields for itself.
    expect(
        commit.signed_header.header.hash() == block.block_id.hash,
        "the header's hash",
    )?;
    let validators = client.validators(height, Paging::All).await?.validators;
    let set = cosmrs::tendermint::validator::Set::without_proposer(validators);
    expect(
        set.hash() == block.block.header.validators_hash,
        "the hash of the validators",
    )?;
    client.block_results(height).await?;
    client.blockchain(1_u32, 3_u32).await?;
    let hash = variable("NATIVE_TX").parse()?;
    let found = client.tx(hash, true).await?;
    expect(
        found.proof.is_some_and(|it| !it.root_hash.is_empty()),
        "the proof of a transaction",
    )?;
    let search = Query::eq("tx.height", found.height.value());
    let page = client
        .tx_search(search, false, 1, 10, Order::Ascending)
        .await?;
    expect(page.txs.iter().any(|it| it.hash == hash), "tx_search")?;
    println!(
        "status, block, commit, validators, results, a transaction with its proof; hashes are those of the fields"
    );
    Ok(())
}

async fn transact(client: &HttpClient, socket: &WebSocketClient) -> Outcome<()> {
    let key = SigningKey::from_slice(&hex(&variable("PRIVATE_KEY")))?;
    let sender = key.public_key().account_id("coin")?;
    let receiver = SigningKey::random().public_key().account_id("coin")?;
    let grpc = format!("http://{}", variable("GRPC_ADDRESS"));
    let mut auth = AuthClient::connect(grpc.clone()).await?;
    let request = QueryAccountInfoRequest {
        address: sender.to_string(),
    };
    let account = auth
        .account_info(request)
        .await?
        .into_inner()
        .info
        .ok_or("no account")?;

    let message = MsgSend {
        from_address: sender,
        to_address: receiver.clone(),
        amount: vec![coin(7)],
    }
    .to_any()?;
    let body = tx::BodyBuilder::new().msg(message).memo("cosmrs").finish();
    let chain = variable("COSMOS_CHAIN_ID").parse()?;
    let sign = |gas: u64| -> Outcome<Raw> {
        let fee = Fee::from_amount_and_gas(coin(u128::from(gas) * GAS_PRICE), gas);
        let info =
            SignerInfo::single_direct(Some(key.public_key()), account.sequence).auth_info(fee);
        Ok(SignDoc::new(&body, &info, &chain, account.account_number)?.sign(&key)?)
    };
    let mut service = ServiceClient::connect(grpc.clone()).await?;
    #[allow(deprecated)]
    let simulated = service
        .simulate(SimulateRequest {
            tx: None,
            tx_bytes: sign(0)?.to_bytes()?,
        })
        .await?;
    let used = simulated.into_inner().gas_info.ok_or("no gas")?.gas_used;

    let mut blocks = socket.subscribe(EventType::NewBlock.into()).await?;
    let own = Query::from(EventType::Tx).and_eq("transfer.recipient", receiver.to_string());
    let mut transfers = socket.subscribe(own).await?;
    let raw = sign(used * 3 / 2)?.to_bytes()?;
    let sent = client.broadcast_tx_sync(raw).await?;
    expect(sent.code.is_ok(), format!("refused: {}", sent.log))?;
    let event = tokio::time::timeout(PATIENCE, transfers.next())
        .await?
        .ok_or("the subscription ended")??;
    let EventData::Tx { tx_result } = event.data else {
        return Err("not a transaction".into());
    };
    tokio::time::timeout(PATIENCE, blocks.next())
        .await?
        .ok_or("the subscription ended")??;
    let included = client.tx(sent.hash, false).await?;
    expect(
        included.tx_result.code.is_ok()
            && included.height.value() == u64::try_from(tx_result.height)?,
        "its block",
    )?;
    let parsed = tx::Tx::from_bytes(&included.tx)?;
    expect(parsed.body == body, "its body")?;
    let got = service
        .get_tx(GetTxRequest {
            hash: sent.hash.to_string(),
        })
        .await?
        .into_inner();
    expect(got.tx_response.is_some_and(|it| it.code == 0), "GetTx")?;
    println!(
        "a transfer: Simulate, broadcast_tx_sync, its event and a new block over a WebSocket, GetTx"
    );

    let mut bank = BankClient::connect(grpc.clone()).await?;
    let request = QueryBalanceRequest {
        address: receiver.to_string(),
        denom: DENOMINATION.into(),
    };
    let balance = bank
        .balance(request)
        .await?
        .into_inner()
        .balance
        .ok_or("no balance")?;
    expect(balance.amount == "7", "the balance")?;
    let mut staking = StakingClient::connect(grpc).await?;
    let validators = staking
        .validators(QueryValidatorsRequest::default())
        .await?
        .into_inner()
        .validators;
    expect(validators.len() == 1, "validators")?;
    println!("bank and staking over gRPC");
    Ok(())
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.trim_start_matches("0x");
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}
