// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {AccessManaged} from "@openzeppelin/contracts/access/manager/AccessManaged.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

import {IAccounts} from "./interfaces/IAccounts.sol";
import {Balances, BalancesLib} from "./libraries/BalancesLib.sol";
import {PricesLib} from "./libraries/PricesLib.sol";
import {RequestTermsLib} from "./libraries/RequestTermsLib.sol";
import {TokenLib} from "./libraries/TokenLib.sol";
import {GAS_PRICE_UNIT, GAS_RATE_WEI, MAX_TREASURY_PPM} from "./types/Limits.sol";
import {Currency, PriceTerms, Prices, RequestTerms} from "./types/Types.sol";

/// @title Subscriptions, credits and prices (SE16 to SE19)
/// @dev Money comes in before anything is credited (see `TokenLib.pullExact`) and goes out after everything is written.
/// Balances use checked arithmetic of 104 bits, which is more than all units of a currency.
abstract contract Accounts is IAccounts, AccessManaged {
    using Address for address payable;
    using PricesLib for Prices;
    using RequestTermsLib for RequestTerms;
    using SafeERC20 for IERC20;
    using TokenLib for IERC20;

    /// @param balances the funds and the count of requests, the only word that a request writes
    /// @param pending the account that may accept the ownership
    /// @param allowances what each consumer may still escrow; see `setConsumer`
    struct Subscription {
        Balances balances;
        address owner;
        address pending;
        mapping(address consumer => Balances allowance) allowances;
    }

    /// @dev An allowance that requests do not lower. No request writes it, which saves 2,900 gas.
    uint256 private constant UNBOUNDED = type(uint104).max;

    /// @inheritdoc IAccounts
    IERC20 public immutable feeToken;
    /// @inheritdoc IAccounts
    address public immutable treasury;

    uint48 private _subscriptionCount;
    /// @dev Subscription 0, which nobody owns, counts the requests of direct payers.
    mapping(uint48 subscriptionId => Subscription subscription) private _subscriptions;
    mapping(address account => Balances balances) private _credits;
    mapping(Currency currency => Prices prices) private _prices;
    mapping(Currency currency => mapping(uint16 version => Prices prices)) private _priceLists;

    modifier onlyOwner(uint48 subscriptionId) {
        _requireOwner(subscriptionId);
        _;
    }

    constructor(IERC20 feeToken_, address treasury_, PriceTerms memory token, PriceTerms memory native) {
        feeToken = feeToken_;
        treasury = treasury_;
        _setPrices(Currency.Token, token, 0, true);
        _setPrices(Currency.Native, native, 0, true);
    }

    /// @inheritdoc IAccounts
    function createSubscription() external returns (uint48 subscriptionId) {
        subscriptionId = ++_subscriptionCount;
        _subscriptions[subscriptionId].owner = msg.sender;
        emit SubscriptionCreated(subscriptionId, msg.sender);
    }

    /// @inheritdoc IAccounts
    function setConsumer(
        uint48 subscriptionId,
        address consumer,
        uint104 tokenAllowance,
        uint104 nativeAllowance
    ) external onlyOwner(subscriptionId) {
        _subscriptions[subscriptionId].allowances[consumer] = BalancesLib.pack(tokenAllowance, nativeAllowance);
        emit ConsumerSet(subscriptionId, consumer, tokenAllowance, nativeAllowance);
    }

    /// @inheritdoc IAccounts
    function transferSubscription(uint48 subscriptionId, address to) external onlyOwner(subscriptionId) {
        _subscriptions[subscriptionId].pending = to;
        emit SubscriptionTransferStarted(subscriptionId, msg.sender, to);
    }

    /// @inheritdoc IAccounts
    function acceptSubscription(uint48 subscriptionId) external {
        Subscription storage subscription = _subscriptions[subscriptionId];
        require(msg.sender == subscription.pending, NotPendingOwner(subscriptionId, msg.sender));
        address before = subscription.owner;
        (subscription.owner, subscription.pending) = (msg.sender, address(0));
        emit SubscriptionTransferred(subscriptionId, before, msg.sender);
    }

    /// @inheritdoc IAccounts
    function fund(uint48 subscriptionId, uint256 amount) external {
        _ownerOf(subscriptionId);
        feeToken.pullExact(amount);
        _addFunds(subscriptionId, Currency.Token, amount);
    }

    /// @inheritdoc IAccounts
    function fundNative(uint48 subscriptionId) external payable {
        _ownerOf(subscriptionId);
        _addFunds(subscriptionId, Currency.Native, msg.value);
    }

    /// @inheritdoc IAccounts
    function withdrawFunds(
        uint48 subscriptionId,
        Currency currency,
        uint256 amount,
        address to
    ) external onlyOwner(subscriptionId) {
        Subscription storage subscription = _subscriptions[subscriptionId];
        subscription.balances = _without(subscription.balances, subscriptionId, currency, amount);
        emit SubscriptionWithdrawn(subscriptionId, to, currency, amount);
        _send(currency, amount, to);
    }

    /// @inheritdoc IAccounts
    function withdraw(Currency currency, uint256 amount, address to) external {
        Balances credits = _credits[msg.sender];
        uint256 held = credits.amountIn(currency);
        require(amount <= held, InsufficientCredit(msg.sender, currency, held, amount));
        _credits[msg.sender] = credits.sub(currency, amount);
        emit Withdrawn(msg.sender, to, currency, amount);
        _send(currency, amount, to);
    }

    /// @inheritdoc IAccounts
    function setPrices(Currency currency, PriceTerms calldata prices) external restricted {
        Prices current = _prices[currency];
        // Checked arithmetic: after the last version, this reverts and that version stays in force.
        _setPrices(currency, prices, current.version() + 1, current.isOpen());
    }

    /// @inheritdoc IAccounts
    function pauseRequests(Currency currency) external restricted {
        Prices prices = _prices[currency];
        _requireOpen(prices, currency);
        _prices[currency] = prices.withOpen(false);
        emit RequestsPaused(currency);
    }

    /// @inheritdoc IAccounts
    function unpauseRequests(Currency currency) external restricted {
        Prices prices = _prices[currency];
        require(!prices.isOpen(), RequestsAreNotPaused(currency));
        _prices[currency] = prices.withOpen(true);
        emit RequestsUnpaused(currency);
    }

    /// @inheritdoc IAccounts
    function quote(RequestTerms terms) external view returns (uint256) {
        return _prices[terms.currency()].quote(terms);
    }

    /// @inheritdoc IAccounts
    function pricesOf(Currency currency) external view returns (Prices) {
        return _prices[currency];
    }

    /// @inheritdoc IAccounts
    function priceListOf(Currency currency, uint16 version) public view returns (Prices) {
        return _priceLists[currency][version];
    }

    /// @inheritdoc IAccounts
    function subscriptionOf(
        uint48 subscriptionId
    )
        external
        view
        returns (address owner, address pendingOwner, uint256 tokenBalance, uint256 nativeBalance, uint48 requests)
    {
        Subscription storage subscription = _subscriptions[subscriptionId];
        Balances balances = subscription.balances;
        return (
            subscription.owner,
            subscription.pending,
            balances.amountIn(Currency.Token),
            balances.amountIn(Currency.Native),
            balances.count()
        );
    }

    /// @inheritdoc IAccounts
    function allowanceOf(uint48 subscriptionId, address consumer) external view returns (Balances) {
        return _subscriptions[subscriptionId].allowances[consumer];
    }

    /// @inheritdoc IAccounts
    function creditOf(address account, Currency currency) external view returns (uint256) {
        return _credits[account].amountIn(currency);
    }

    /// @dev Escrows the fee of a request that the caller makes, and counts it.
    /// @param subscriptionId the subscription that pays; 0 = the caller pays now
    /// @return priceVersion the version of the price list in force
    /// @return count the number of the subscription's requests, with this one
    function _escrow(uint48 subscriptionId, RequestTerms terms) internal returns (uint16 priceVersion, uint48 count) {
        Currency currency = terms.currency();
        uint256 fee = terms.fee();
        Prices prices = _prices[currency];
        _requireOpen(prices, currency);
        uint256 required = prices.quote(terms);
        require(fee >= required, FeeTooLow(fee, required));
        Subscription storage subscription = _subscriptions[subscriptionId];
        Balances balances;
        if (subscriptionId == 0) {
            _receive(currency, fee);
            balances = subscription.balances;
        } else {
            _requireValue(0);
            Balances allowance = subscription.allowances[msg.sender];
            uint256 left = allowance.amountIn(currency);
            require(left != 0, NotConsumer(subscriptionId, msg.sender));
            if (left != UNBOUNDED) {
                require(fee <= left, AllowanceExceeded(subscriptionId, msg.sender, left, fee));
                subscription.allowances[msg.sender] = allowance.sub(currency, fee);
            }
            balances = _without(subscription.balances, subscriptionId, currency, fee);
        }
        balances = balances.counted();
        subscription.balances = balances;
        return (prices.version(), balances.count());
    }

    /// @dev Takes exactly `amount` from the caller. A token may call back, so write nothing before this call that a
    /// repeated call could use.
    function _receive(Currency currency, uint256 amount) internal {
        _requireValue(currency == Currency.Native ? amount : 0);
        if (currency == Currency.Token) feeToken.pullExact(amount);
    }

    function _credit(Currency currency, address account, uint256 amount) internal {
        if (amount != 0) _credits[account] = _credits[account].add(currency, amount);
    }

    /// @dev Returns an amount to the source of the fee: the subscription or the consumer's credit.
    function _refund(uint48 subscriptionId, address consumer, Currency currency, uint256 amount) internal {
        if (subscriptionId == 0) _credit(currency, consumer, amount);
        else _addBalance(subscriptionId, currency, amount);
    }

    function _addFunds(uint48 subscriptionId, Currency currency, uint256 amount) private {
        _addBalance(subscriptionId, currency, amount);
        emit SubscriptionFunded(subscriptionId, msg.sender, currency, amount);
    }

    function _addBalance(uint48 subscriptionId, Currency currency, uint256 amount) private {
        Subscription storage subscription = _subscriptions[subscriptionId];
        subscription.balances = subscription.balances.add(currency, amount);
    }

    /// @dev Returns the balances without `amount`.
    function _without(
        Balances balances,
        uint48 subscriptionId,
        Currency currency,
        uint256 amount
    ) private pure returns (Balances) {
        uint256 held = balances.amountIn(currency);
        require(amount <= held, InsufficientFunds(subscriptionId, currency, held, amount));
        return balances.sub(currency, amount);
    }

    function _send(Currency currency, uint256 amount, address to) private {
        if (currency == Currency.Token) feeToken.safeTransfer(to, amount);
        else payable(to).sendValue(amount);
    }

    function _setPrices(Currency currency, PriceTerms memory terms, uint16 version, bool open) private {
        require(terms.treasuryPpm <= MAX_TREASURY_PPM, InvalidPrices("treasuryPpm", terms.treasuryPpm));
        uint256 cap = terms.gasPriceCap;
        require(
            cap % GAS_PRICE_UNIT == 0 && cap / GAS_PRICE_UNIT <= type(uint32).max,
            InvalidPrices("gasPriceCap", cap)
        );
        require(currency == Currency.Token || terms.gasRate == GAS_RATE_WEI, InvalidPrices("gasRate", terms.gasRate));
        Prices prices = PricesLib.pack(terms, version, open);
        _prices[currency] = prices;
        _priceLists[currency][version] = prices;
        emit PricesSet(currency, version, terms);
    }

    function _requireOpen(Prices prices, Currency currency) private pure {
        require(prices.isOpen(), RequestsArePaused(currency));
    }

    function _requireValue(uint256 expected) private view {
        require(msg.value == expected, WrongValue(expected, msg.value));
    }

    function _requireOwner(uint48 subscriptionId) private view {
        address owner = _ownerOf(subscriptionId);
        require(msg.sender == owner, NotSubscriptionOwner(subscriptionId, msg.sender));
    }

    function _ownerOf(uint48 subscriptionId) private view returns (address owner) {
        owner = _subscriptions[subscriptionId].owner;
        require(owner != address(0), UnknownSubscription(subscriptionId));
    }
}
