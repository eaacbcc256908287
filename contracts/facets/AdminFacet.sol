// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IHedgeAdmin} from "../interfaces/IHedgeAdmin.sol";
import {Guards} from "../libraries/Guards.sol";
import {LibDiamond} from "../libraries/LibDiamond.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {FeeRates, HedgeEvent, LibStorage, Protocol} from "../libraries/LibStorage.sol";
import {IERC20, LibToken} from "../libraries/LibToken.sol";
import {Reasons} from "../libraries/Reasons.sol";

/// @title The owner's functions and the oracle admin's settlement.
contract AdminFacet is IHedgeAdmin, Guards {
    uint256 private constant MAX_RATE = 100_000;
    uint256 private constant MAX_LOYALTY = 500_000;
    uint256 private constant GRACE = 90 days;

    function initializeHedgeFees(
        uint256 _eventCreationFee,
        uint256 _hedgerFeeRate,
        uint256 _hedgerPayoutFeeRate,
        uint256 _lpProfitFeeRate,
        uint256 _creatorLoyaltyRate
    ) external onlyOwner {
        Protocol storage s = LibStorage.protocol();
        // The creation of an event checks again with the decimals of its own token.
        LibPool.requireFeeCap(_eventCreationFee, s.defaultToken);
        require(
            _hedgerFeeRate <= MAX_RATE && _hedgerPayoutFeeRate <= MAX_RATE && _lpProfitFeeRate <= MAX_RATE,
            Reasons.FEE_RATE_TOO_HIGH
        );
        require(_creatorLoyaltyRate <= MAX_LOYALTY, Reasons.LOYALTY_RATE_TOO_HIGH);
        s.feesInitialized = true;
        s.creationFee = _eventCreationFee;
        s.rates = FeeRates(
            uint32(_hedgerFeeRate), uint32(_hedgerPayoutFeeRate), uint32(_lpProfitFeeRate), uint32(_creatorLoyaltyRate)
        );
        emit FeesInitialized(
            _eventCreationFee, _hedgerFeeRate, _hedgerPayoutFeeRate, _lpProfitFeeRate, _creatorLoyaltyRate
        );
    }

    function settleEvent(uint256 _eventId, uint256 _settlementPrice) external {
        Protocol storage s = LibStorage.protocol();
        require(!s.oracleV2, Reasons.ORACLE_CONSENSUS_ACTIVE);
        require(msg.sender == s.oracleAdmin || msg.sender == LibDiamond.store().owner, Reasons.NOT_ORACLE_ADMIN);
        HedgeEvent storage e = existing(_eventId);
        require(e.settledAt == 0, Reasons.EVENT_SETTLED);
        require(block.timestamp >= e.expiryDate, Reasons.EVENT_NOT_EXPIRED);
        require(_settlementPrice > 0, Reasons.PRICE_IS_ZERO);
        LibPool.settle(e, _settlementPrice);
        emit EventSettled(_eventId, _settlementPrice, e.triggered);
    }

    function pause() external onlyOwner {
        require(!LibStorage.protocol().paused, Reasons.PAUSED);
        LibStorage.protocol().paused = true;
        emit Paused(msg.sender);
    }

    function unpause() external onlyOwner {
        require(LibStorage.protocol().paused, Reasons.NOT_PAUSED);
        LibStorage.protocol().paused = false;
        emit Unpaused(msg.sender);
    }

    function activateOracleV2() external onlyOwner {
        require(!LibStorage.protocol().oracleV2, Reasons.ORACLE_CONSENSUS_ACTIVE);
        LibStorage.protocol().oracleV2 = true;
        emit OracleV2Activated();
    }

    function setOracleAdmin(address _admin) external onlyOwner {
        LibStorage.protocol().oracleAdmin = _admin;
        emit OracleAdminSet(_admin);
    }

    function setPricingEngineSigner(address _signer) external onlyOwner {
        Protocol storage s = LibStorage.protocol();
        emit PricingEngineSignerSet(s.pricingEngineSigner, _signer);
        s.pricingEngineSigner = _signer;
    }

    function withdrawPlatformFees(uint256 _amount) external onlyOwner nonReentrant {
        payFees(LibStorage.protocol().defaultToken, _amount);
        emit PlatformFeesWithdrawn(msg.sender, _amount);
    }

    function withdrawPlatformFeesByToken(address _token, uint256 _amount) external onlyOwner nonReentrant {
        payFees(_token, _amount);
        emit PlatformFeesByTokenWithdrawn(_token, msg.sender, _amount);
    }

    function rescueETH(address payable _to) external onlyOwner nonReentrant {
        require(_to != address(0), Reasons.ZERO_ADDRESS);
        uint256 amount = address(this).balance;
        require(amount > 0, Reasons.NOTHING_TO_RESCUE);
        emit ETHRescued(_to, amount);
        (bool ok,) = _to.call{value: amount}("");
        require(ok, Reasons.TRANSFER_FAILED);
    }

    /// @dev The protocol may still owe a delisted token, so `everAllowed` stays set.
    function rescueERC20(address _token, address _to) external onlyOwner nonReentrant {
        require(_token != address(0) && _to != address(0), Reasons.ZERO_ADDRESS);
        require(!LibStorage.protocol().everAllowed[_token], Reasons.PAYMENT_TOKEN);
        uint256 amount = IERC20(_token).balanceOf(address(this));
        require(amount > 0, Reasons.NOTHING_TO_RESCUE);
        emit ERC20Rescued(_token, _to, amount);
        LibToken.push(_token, _to, amount);
    }

    function setAllowedPaymentToken(address _token, bool _allowed) external onlyOwner {
        require(_token != address(0), Reasons.ZERO_ADDRESS);
        Protocol storage s = LibStorage.protocol();
        require(_allowed || _token != s.defaultToken, Reasons.DEFAULT_TOKEN);
        s.allowedToken[_token] = _allowed;
        if (_allowed) {
            LibToken.unit(_token); // Reverts for an address that is not a token.
            s.everAllowed[_token] = true;
        }
        emit PaymentTokenSet(_token, _allowed);
    }

    function recoverExpiredPayouts(uint256 _eventId) external onlyOwner {
        HedgeEvent storage e = existing(_eventId);
        require(e.settledAt != 0, Reasons.EVENT_NOT_SETTLED);
        require(block.timestamp >= e.settledAt + GRACE, Reasons.GRACE_PERIOD);
        require(!e.recovered, Reasons.ALREADY_RECOVERED);
        uint256 amount = e.totalMaxPayout - e.payoutsClaimed;
        require(amount > 0, Reasons.NOTHING_TO_RECOVER);
        e.recovered = true;
        LibPool.addPlatformFee(e.paymentToken, amount);
        emit ExpiredPayoutsRecovered(_eventId, amount);
    }

    function payFees(address token, uint256 amount) private {
        Protocol storage s = LibStorage.protocol();
        require(amount > 0, Reasons.AMOUNT_IS_ZERO);
        require(amount <= s.platformFees[token], Reasons.EXCEEDS_COLLECTED_FEES);
        s.platformFees[token] -= amount;
        s.platformFeesTotal -= amount;
        LibToken.push(token, msg.sender, amount);
    }
}
