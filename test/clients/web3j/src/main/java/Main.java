import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.web3j.abi.EventEncoder;
import org.web3j.abi.FunctionEncoder;
import org.web3j.abi.FunctionReturnDecoder;
import org.web3j.abi.TypeReference;
import org.web3j.abi.datatypes.Address;
import org.web3j.abi.datatypes.Bool;
import org.web3j.abi.datatypes.Event;
import org.web3j.abi.datatypes.Function;
import org.web3j.abi.datatypes.Type;
import org.web3j.abi.datatypes.generated.Uint256;
import org.web3j.crypto.Credentials;
import org.web3j.protocol.Web3j;
import org.web3j.protocol.core.DefaultBlockParameter;
import org.web3j.protocol.core.DefaultBlockParameterName;
import org.web3j.protocol.core.methods.request.EthFilter;
import org.web3j.protocol.core.methods.request.Transaction;
import org.web3j.protocol.core.methods.response.EthBlock;
import org.web3j.protocol.core.methods.response.EthCall;
import org.web3j.protocol.core.methods.response.EthSendTransaction;
import org.web3j.protocol.core.methods.response.TransactionReceipt;
import org.web3j.protocol.http.HttpService;
import org.web3j.protocol.websocket.WebSocketService;
import org.web3j.tx.RawTransactionManager;
import org.web3j.tx.response.PollingTransactionReceiptProcessor;

/** Talks to a node by web3j; ends with 1 at the first answer that is not as expected. */
public final class Main {
  private static final Map<String, String> ENVIRONMENT = System.getenv();
  private static final String TOKEN = ENVIRONMENT.get("TOKEN");
  private static final long CHAIN_ID = Long.parseLong(ENVIRONMENT.get("CHAIN_ID"));
  private static final Credentials ACCOUNT = Credentials.create(ENVIRONMENT.get("PRIVATE_KEY"));
  private static final Event TRANSFER =
      new Event(
          "Transfer",
          List.of(
              new TypeReference<Address>(true) {},
              new TypeReference<Address>(true) {},
              new TypeReference<Uint256>() {}));
  private static final BigInteger GWEI = BigInteger.TEN.pow(9);
  private static final BigInteger GAS = BigInteger.valueOf(100_000);

  /** Filters that are made one after another: an id with leading zeros is one in sixteen. */
  private static final int FILTERS = 64;

  public static void main(String[] arguments) {
    try {
      HttpService http = new HttpService(ENVIRONMENT.get("RPC_URL"));
      // Its filters are asked for changes each 200 ms.
      Web3j web3j = Web3j.build(http, 200, org.web3j.utils.Async.defaultExecutorService());
      read(web3j);
      send(web3j);
      filters(web3j);
      watch(web3j);
      web3j.shutdown();
      subscribe();
    } catch (Throwable problem) {
      problem.printStackTrace();
      System.exit(1);
    }
    System.exit(0);
  }

  private static void expect(boolean isTrue, String otherwise) {
    if (!isTrue) throw new AssertionError(otherwise);
  }

  private static Function transfer(String to, BigInteger amount) {
    return new Function(
        "transfer", List.of(new Address(to), new Uint256(amount)), List.of(new TypeReference<Bool>() {}));
  }

  private static void read(Web3j web3j) throws Exception {
    expect(web3j.ethChainId().send().getChainId().longValueExact() == CHAIN_ID, "chain ID");
    expect(!web3j.web3ClientVersion().send().getWeb3ClientVersion().isEmpty(), "client version");
    EthBlock.Block head = web3j.ethGetBlockByNumber(DefaultBlockParameterName.LATEST, true).send().getBlock();
    EthBlock.Block same = web3j.ethGetBlockByHash(head.getHash(), true).send().getBlock();
    expect(head.equals(same), "a block by its number and by its hash");
    expect(head.getBaseFeePerGas().signum() > 0, "base fee");
    TransactionReceipt receipt = receiptOf(web3j, ENVIRONMENT.get("TOKEN_TX"));
    expect(receipt.isStatusOK() && receipt.getLogs().size() == 1, "receipt");
    var receipts = web3j.ethGetBlockReceipts(DefaultBlockParameter.valueOf(receipt.getBlockNumber())).send();
    expect(receipts.getBlockReceipts().orElseThrow().contains(receipt), "receipts of a block");

    Function balanceOf =
        new Function("balanceOf", List.of(new Address(ACCOUNT.getAddress())), List.of(new TypeReference<Uint256>() {}));
    EthCall call = call(web3j, FunctionEncoder.encode(balanceOf));
    @SuppressWarnings("rawtypes")
    List<Type> values = FunctionReturnDecoder.decode(call.getValue(), balanceOf.getOutputParameters());
    expect(((BigInteger) values.get(0).getValue()).signum() > 0, "the account holds no token");
    EthCall tooMuch = call(web3j, FunctionEncoder.encode(transfer(ACCOUNT.getAddress(), BigInteger.TEN.pow(40))));
    expect(tooMuch.isReverted() && tooMuch.getError().getData().toString().contains("e450d38c"), "a custom error");

    var fees = web3j.ethFeeHistory(4, DefaultBlockParameterName.LATEST, List.of(10.0, 90.0)).send().getFeeHistory();
    expect(fees.getBaseFeePerGas().size() == 5, "fee history");
    expect(web3j.ethMaxPriorityFeePerGas().send().getMaxPriorityFeePerGas().signum() >= 0, "priority fee");
    var proof = web3j.ethGetProof(TOKEN, List.of("0x0"), "latest").send();
    expect(!proof.hasError() && !proof.getProof().getAccountProof().isEmpty(), "proof");
    System.out.println("blocks, receipts, calls, a custom error, fees, a proof");
  }

  private static EthCall call(Web3j web3j, String data) throws Exception {
    Transaction transaction = Transaction.createEthCallTransaction(ACCOUNT.getAddress(), TOKEN, data);
    return web3j.ethCall(transaction, DefaultBlockParameterName.LATEST).send();
  }

  private static TransactionReceipt receiptOf(Web3j web3j, String hash) throws Exception {
    return web3j.ethGetTransactionReceipt(hash).send().getTransactionReceipt().orElseThrow();
  }

  /** Sends a legacy transaction, then one of EIP-1559. */
  private static void send(Web3j web3j) throws Exception {
    RawTransactionManager manager = manager(web3j);
    var processor = new PollingTransactionReceiptProcessor(web3j, 100, 300);
    String data = FunctionEncoder.encode(transfer("0x1200000000000000000000000000000000000012", BigInteger.ONE));
    BigInteger price = web3j.ethGasPrice().send().getGasPrice();
    EthSendTransaction legacy = manager.sendTransaction(price.multiply(BigInteger.TWO), GAS, TOKEN, data, BigInteger.ZERO);
    EthSendTransaction dynamic =
        manager.sendEIP1559Transaction(CHAIN_ID, GWEI, GWEI.multiply(BigInteger.TEN), GAS, TOKEN, data, BigInteger.ZERO);
    for (EthSendTransaction sent : List.of(legacy, dynamic)) {
      expect(!sent.hasError(), sent.hasError() ? sent.getError().getMessage() : "");
      TransactionReceipt receipt = processor.waitForTransactionReceipt(sent.getTransactionHash());
      expect(receipt.isStatusOK() && receipt.getLogs().size() == 1, "the receipt of what was sent");
      var found = web3j.ethGetTransactionByHash(sent.getTransactionHash()).send().getTransaction().orElseThrow();
      expect(found.getFrom().equals(ACCOUNT.getAddress()), "its sender");
    }
    System.out.println("a legacy transaction and one of EIP-1559, with their receipts");
  }

  private static RawTransactionManager manager(Web3j web3j) {
    return new RawTransactionManager(web3j, ACCOUNT, CHAIN_ID);
  }

  /** web3j holds an id as a quantity, and sends it back without leading zeros. */
  private static void filters(Web3j web3j) throws Exception {
    for (int index = 0; index < FILTERS; index++) {
      BigInteger id = web3j.ethNewBlockFilter().send().getFilterId();
      expect(!web3j.ethGetFilterChanges(id).send().hasError(), "filter not found: " + id.toString(16));
      expect(web3j.ethUninstallFilter(id).send().isUninstalled(), "not uninstalled: " + id.toString(16));
    }
    BigInteger first = new BigInteger(ENVIRONMENT.get("TOKEN_BLOCK"));
    EthFilter history = new EthFilter(DefaultBlockParameter.valueOf(first), DefaultBlockParameterName.LATEST, TOKEN);
    history.addSingleTopic(EventEncoder.encode(TRANSFER));
    int count = web3j.ethGetLogs(history).send().getLogs().size();
    expect(count > Integer.parseInt(ENVIRONMENT.get("TOKEN_TRANSFERS")), count + " logs of transfers");
    BigInteger id = web3j.ethNewFilter(history).send().getFilterId();
    expect(web3j.ethGetFilterLogs(id).send().getLogs().size() >= count, "logs of a filter");
    System.out.println(FILTERS + " filters of blocks, logs, a filter of logs");
  }

  /** Streams of blocks and logs, which web3j makes of filters. */
  private static void watch(Web3j web3j) throws Exception {
    CountDownLatch blocks = new CountDownLatch(5);
    CountDownLatch logs = new CountDownLatch(1);
    Queue<Throwable> problems = new ConcurrentLinkedQueue<>();
    var ofBlocks = web3j.blockFlowable(false).subscribe(block -> blocks.countDown(), problems::add);
    EthFilter filter = new EthFilter(DefaultBlockParameterName.LATEST, DefaultBlockParameterName.LATEST, TOKEN);
    var ofLogs = web3j.ethLogFlowable(filter).subscribe(log -> logs.countDown(), problems::add);
    String data = FunctionEncoder.encode(transfer(ACCOUNT.getAddress(), BigInteger.TWO));
    manager(web3j).sendEIP1559Transaction(CHAIN_ID, GWEI, GWEI.multiply(BigInteger.TEN), GAS, TOKEN, data, BigInteger.ZERO);
    boolean hasAll = blocks.await(30, TimeUnit.SECONDS) && logs.await(30, TimeUnit.SECONDS);
    ofBlocks.dispose();
    ofLogs.dispose();
    expect(hasAll && problems.isEmpty(), "streams of filters: " + problems);
    System.out.println("blockFlowable and ethLogFlowable by filters");
  }

  private static void subscribe() throws Exception {
    WebSocketService socket = new WebSocketService(ENVIRONMENT.get("WS_URL"), true);
    socket.connect();
    Web3j web3j = Web3j.build(socket);
    CountDownLatch heads = new CountDownLatch(3);
    CountDownLatch logs = new CountDownLatch(1);
    var ofHeads = web3j.newHeadsNotifications().subscribe(head -> heads.countDown());
    var ofLogs =
        web3j.logsNotifications(List.of(TOKEN), Arrays.asList(EventEncoder.encode(TRANSFER)))
            .subscribe(log -> logs.countDown());
    expect(heads.await(30, TimeUnit.SECONDS), "no heads");
    String data = FunctionEncoder.encode(transfer(ACCOUNT.getAddress(), BigInteger.TEN));
    manager(web3j).sendEIP1559Transaction(CHAIN_ID, GWEI, GWEI.multiply(BigInteger.TEN), GAS, TOKEN, data, BigInteger.ZERO);
    expect(logs.await(30, TimeUnit.SECONDS), "no log");
    ofHeads.dispose();
    ofLogs.dispose();
    socket.close();
    System.out.println("newHeads and logs over a WebSocket");
  }
}
